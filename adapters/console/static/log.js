// Draws a room's exchanges: what a person said, and under it the answer and how it stands.

import { markdown } from "./markdown.js";
import { clock, t, tcode } from "./words.js";
import { TERMINAL } from "./wire.js";

const COMMAND = /^\s*[/／](help|stop|memory|new|human(\s.*)?|人工|帮助|停止|记忆|新对话|新会话|(agent|智能体)(\s+\S+)?)\s*$/i;

const list = document.querySelector("#log");
const scroller = document.querySelector("#scroller");
const newest = document.querySelector("#newest");
const drawn = new Map(); // exchange id -> its two list items
const due = new Map(); // exchange id -> exchange to draw in the next frame

let on = { retry() {}, ledger() {} };
export const listen = (handlers) => (on = handlers);

function el(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children);
  return node;
}

function button(className, label, act) {
  const node = el("button", className, label);
  node.type = "button";
  node.addEventListener("click", () => act(node));
  return node;
}

const atEnd = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 60;

export function toEnd() {
  scroller.scrollTop = scroller.scrollHeight;
}

scroller.addEventListener("scroll", () => (newest.hidden = atEnd()), { passive: true });
newest.addEventListener("click", toEnd);

/** Shows these exchanges instead of those shown before. */
export function show(exchanges) {
  drawn.clear();
  due.clear();
  list.replaceChildren();
  exchanges.forEach(draw);
  toEnd();
  newest.hidden = true;
}

/** Shows the exchange as it stands now, at most once a frame; it is added at the end if it is new. */
export function update(x) {
  if (!due.size) requestAnimationFrame(flush);
  due.set(x.id, x);
}

function flush() {
  const stay = atEnd();
  due.forEach(draw);
  due.clear();
  if (stay) toEnd();
  else newest.hidden = false;
}

export const has = (id) => drawn.has(id) || due.has(id);

function draw(x) {
  let items = drawn.get(x.id);
  if (!items) {
    items = { said: el("li", "said"), answer: el("li", "answer") };
    items.said.dataset.person = x.person;
    drawn.set(x.id, items);
    if (x.unasked) list.append(items.answer);
    else {
      items.said.append(head(x.name, x.at), said(x));
      list.append(items.said, items.answer);
    }
  }
  drawAnswer(items.answer, x);
}

function head(name, at) {
  const when = el("time", "", clock(at));
  when.dateTime = new Date(at).toISOString();
  return el("p", "head", el("span", "name", name), when);
}

function said(x) {
  const node = el("div", "text plain", x.text);
  node.dir = "auto";
  return node;
}

function drawAnswer(item, x) {
  const busy = !TERMINAL.has(x.status) && x.status !== "unsent" && x.status !== "lost";
  item.dataset.status = x.status;
  item.setAttribute("aria-busy", String(busy));
  const parts = [];
  if (x.reply && !x.joined) {
    const text = el("div", "text", ...markdown(x.reply));
    text.dir = "auto";
    parts.push(el("p", "head", el("span", "name", t("bot")), ...addressee(x)), text);
  }
  const note = noteOf(x, busy);
  if (note) parts.push(note);
  const asked = x.status === "answered" || x.status === "failed";
  if (asked && !x.joined && !x.unasked && !COMMAND.test(x.text)) {
    const open = button("saw", t("saw"), (node) => on.ledger(x, node));
    open.setAttribute("aria-haspopup", "dialog");
    parts.push(el("p", "acts", open));
  }
  item.hidden = !parts.length;
  const focused = item.contains(document.activeElement) && document.activeElement.className;
  item.replaceChildren(...parts);
  if (focused) item.querySelector(`button.${focused}`)?.focus(); // drawing anew must not lose the reader's place
}

const addressee = (x) => (x.unasked || x.room.startsWith("private") ? [] : [el("span", "to", `→ ${x.name}`)]);

function noteOf(x, busy) {
  if (x.joined) return el("p", "note", t("joined"));
  if (x.trouble && busy) return el("p", "note trouble", t("reconnecting"));
  if (busy && x.reply) return el("p", "note writing", el("span", "caret"));
  const state = x.status === "accepted" && !x.behind ? "running" : x.status;
  if (busy) return el("p", "note wait", el("span", "dots", el("i"), el("i"), el("i")), t(state));
  const rule = tcode("rule", x.rule ?? "");
  if (x.status === "observed" || x.status === "ignored") return el("p", "note", t(x.status, { rule }));
  if (x.status === "applied" && !x.reply) return el("p", "note", t("applied"));
  if (x.code === "stopped") return el("p", "note", x.error);
  if (["failed", "dead", "unsent", "lost"].includes(x.status)) return trouble(x);
  return null;
}

function trouble(x) {
  const title = { failed: "failed", dead: "dead", unsent: "unsent", lost: "failed" }[x.status];
  const why = x.status === "lost" ? t("lost") : (x.error ?? t("no_reason"));
  const box = el("div", "problem", el("strong", "", t(title)), el("span", "", why));
  box.append(button("retry", t("retry"), () => on.retry(x)));
  return box;
}
