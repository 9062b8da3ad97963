// "What is remembered": what the gateway knows of one person of the page, to be corrected or forgotten, beside the talk.

import { el, panel } from "./panel.js";
import { day, language, moment, number, t } from "./words.js";
import * as wire from "./wire.js";

const KINDS = { pinned: "pinned", profile: "profile", session: "facts" }; // the sections' names in a record
const AGAIN_MS = [600, 1200, 2500, 5000, 10_000, 20_000, 30_000]; // while something is still to be learned from

const body = document.querySelector("#known-body");
const title = document.querySelector("#known-title");
let who = null; // whose memory is shown: {id, name}
let told = null; // what the gateway told of it last
let trouble = ""; // why it could not be read or changed
let asked = 0;
let tries = 0;
let timer = 0;

let on = { channel: () => "", forgotten() {} };
/** Asks `channel()` for the page's own, and calls `forgotten(person)` after everything was forgotten. */
export const listen = (handlers) => (on = handlers);

const side = panel(document.querySelector("#known"), () => clearTimeout(timer));

/** Opens what is remembered of the person {id, name}. */
export function open(person, from) {
  side.open(from);
  begin(person);
}

/** Shows another person, or another language, where it is open. */
export function turnTo(person) {
  if (side.shown()) begin(person);
}

/** Looks again after something that the person said was answered. */
export function heard(id) {
  if (!side.shown() || who.id !== id) return;
  tries = 0;
  load();
}

function begin(person) {
  if (who?.id !== person.id) told = null;
  who = person;
  trouble = "";
  tries = 0;
  draw();
  load();
}

async function load() {
  await take(wire.memory(who.id, language()));
}

/** Shows what comes, unless something newer was asked for meanwhile; returns why it did not come, "" if it did. */
async function take(coming) {
  clearTimeout(timer);
  const turn = ++asked;
  let why = "";
  let memory = told;
  try {
    memory = await coming;
  } catch (error) {
    why = error instanceof wire.Refused ? error.message : t("unsent_net");
  }
  if (turn !== asked || !side.shown()) return why;
  told = memory;
  trouble = why;
  if (!body.querySelector("form")) draw(); // what somebody is writing is not swept away
  if (memory?.waits.length && tries < AGAIN_MS.length) timer = setTimeout(load, AGAIN_MS[tries++]);
  return why;
}

const change = (act, more) => take(wire.changeMemory(act, { person: who.id, language: language(), ...more }));

// Drawing

function draw() {
  const focused = body.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  title.textContent = t("known_of", who);
  body.replaceChildren(...[el("p", "quiet", t("known_about", who)), failure(), ...content()].filter(Boolean));
  if (focused) focusOn(focused);
}

const keyed = (key) => [...body.querySelectorAll("button")].find((node) => node.dataset.key === key);
const press = (key) => keyed(key)?.click();
const focusOn = (key) => (keyed(key) ?? document.querySelector("#known .close")).focus();

function failure() {
  if (!trouble) return null;
  const node = el("p", "callout", t("known_error", { why: trouble }));
  node.setAttribute("role", "alert");
  return node;
}

function content() {
  if (!told) return [trouble ? null : el("p", "quiet", t("known_loading"))];
  const sections = Object.keys(KINDS).map((kind) => section(kind, told.kept.filter((one) => one.kind === kind)));
  const empty = told.kept.length || told.waits.length ? null : el("p", "nothing", t("known_nothing", who));
  return [empty, ...sections, waiting(), told.kept.length || told.waits.length ? everything() : null];
}

function section(kind, kept) {
  if (!kept.length) return null;
  const heading = el("h3", "", el("span", "", t(`known_${kind}`)), el("span", "count", number(kept.length)));
  heading.dataset.section = KINDS[kind];
  return el("section", "part", heading, el("ul", "kept", ...kept.map((one, at) => entry(one, `${kind}${at}`))));
}

function waiting() {
  if (!told.waits.length) return null;
  const heading = el("h3", "", el("span", "", t("known_waits")), el("span", "count", number(told.waits.length)));
  heading.dataset.section = "waits";
  const items = told.waits.map((one) => el("li", "", words(one.text), el("p", "source", when(one.said_ms))));
  return el("section", "part", heading, el("p", "quiet", t("known_waits_about")), el("ul", "kept waits", ...items));
}

function entry(one, key) {
  const item = el("li", "", words(one.text), el("p", "source", when(one.said_ms), ` · ${where(one)}`));
  const acts = el("p", "acts");
  acts.append(
    button("known_correct", `${key} correct`, one.text, () => edit(item, acts, one, key)),
    button("known_forget", `${key} forget`, one.text, () => forget(one)),
  );
  item.append(acts);
  return item;
}

function words(text) {
  const node = el("p", "text plain", text);
  node.dir = "auto";
  return node;
}

function when(ms) {
  const node = el("time", "", day(ms));
  node.dateTime = new Date(ms).toISOString();
  node.title = moment(ms);
  return node;
}

function where(one) {
  if (one.entered) return t("where_entered");
  if (!one.channel) return t("where_gone");
  if (one.channel !== on.channel()) return t("where_elsewhere", { channel: one.channel });
  return t(one.private ? "where_private" : "where_group");
}

function button(label, key, of, act) {
  const node = el("button", "small", t(label));
  node.type = "button";
  node.dataset.key = key;
  if (of) node.setAttribute("aria-label", `${t(label)}: ${of}`);
  node.addEventListener("click", act);
  return node;
}

function everything() {
  return el("p", "acts", button("known_forget_all", "all", "", forgetAll));
}

// Changing

async function forget(one) {
  if (!confirm(t("known_forget_sure", { text: one.text }))) return;
  await change("forget", { id: one.id });
}

async function forgetAll() {
  const { id, name } = who;
  if (!confirm(t("known_forget_all_sure", { name }))) return;
  if (!(await change("forget-all", {}))) on.forgotten(id);
}

function edit(item, acts, one, key) {
  const other = body.querySelector("form .cancel");
  if (other) {
    other.click(); // draws everything anew
    return press(`${key} correct`);
  }
  const input = el("input", "");
  input.value = one.value;
  input.setAttribute("aria-label", t("known_instead", { text: one.text }));
  input.autocomplete = "off";
  const refused = el("p", "wrong");
  refused.setAttribute("role", "alert");
  const cancel = el("button", "small cancel", t("cancel"));
  cancel.type = "button";
  const form = el("form", "edit", input, el("div", "acts", el("button", "small keep", t("save")), cancel), refused);
  const done = () => {
    form.remove();
    draw();
    focusOn(`${key} correct`);
  };
  const leave = () => {
    done();
    load(); // what came while it was open was not drawn, and what it was refused for may be gone
  };
  cancel.addEventListener("click", leave);
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.isComposing || event.keyCode === 229)) return event.preventDefault();
    if (event.key !== "Escape") return;
    event.preventDefault(); // leaves the field, not the panel
    event.stopPropagation();
    leave();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const why = await change("correct", { id: one.id, value: input.value });
    if (!form.isConnected) return;
    trouble = "";
    if (!why) return done();
    refused.textContent = why;
    input.setAttribute("aria-invalid", "true");
    input.focus();
  });
  acts.replaceWith(form);
  input.select();
  input.focus();
}
