// "What the model saw": the ledger of one turn, drawn section by section beside the talk.

import { el, panel } from "./panel.js";
import { moment, number, percent, t, tcode, tokens } from "./words.js";
import * as wire from "./wire.js";

const body = document.querySelector("#drawer-body");
const title = document.querySelector("#drawer-title");
let opener = null;
let shown = null; // the exchange whose record is open

const side = panel(document.querySelector("#drawer"), () => {
  mark(false);
  shown = null;
});

/** Opens the record of the exchange's turn; closing gives the focus back to `from`. */
export async function open(x, from) {
  mark(false);
  opener = from;
  shown = x;
  mark(true);
  title.textContent = t("saw");
  body.replaceChildren(el("p", "quiet", t("saw_loading")));
  side.open(from);
  from.scrollIntoView({ block: "nearest" }); // beside the drawer the talk is narrower, so longer
  let content;
  try {
    content = draw(await wire.ledger(x));
  } catch (error) {
    const why = error instanceof wire.Refused ? error.message : t("unsent_net");
    content = [el("p", "quiet", error.status === 404 ? t("saw_none") : t("saw_error", { why }))];
  }
  if (shown !== x) return; // another one was opened meanwhile
  body.replaceChildren(...content);
  body.scrollTop = 0;
}

/** Shows beside which answer the record stands. */
function mark(on) {
  opener?.closest("li")?.classList.toggle("explained", on);
}

export const close = side.close;
export const redraw = () => side.shown() && open(shown, opener);

function draw(ledger) {
  const sections = bySection(ledger.entries);
  return [
    el("p", "quiet", t("saw_about")),
    budget(ledger, sections),
    facts(ledger),
    ...(ledger.failed ?? []).map((part) => el("p", "callout", t("part_failed", { part: tcode("section", part) }))),
    ...(ledger.notes ?? []).map((note) => el("p", "callout", note)),
    ...[...sections].map(([name, entries]) => section(name, entries)),
    learned(ledger.learned ?? []),
    systemBlock(ledger.system),
  ];
}

function bySection(entries) {
  const sections = new Map();
  for (const entry of entries) {
    if (!sections.has(entry.section)) sections.set(entry.section, []);
    sections.get(entry.section).push(entry);
  }
  return sections;
}

const injected = (entries) => entries.reduce((sum, entry) => sum + (entry.verdict === "out" ? 0 : entry.tokens), 0);

function budget(ledger, sections) {
  const window = ledger.budget?.window_tokens ?? 0;
  const reserve = ledger.budget?.output_reserve ?? 0;
  const parts = [...sections].map(([name, entries]) => [name, injected(entries)]).filter(([, count]) => count);
  const used = ledger.budget?.total ?? parts.reduce((sum, [, count]) => sum + count, 0);
  const of = { used: number(used), all: number(window) };
  const bar = el("div", "bar");
  bar.setAttribute("role", "img");
  bar.setAttribute("aria-label", t("budget_label", of));
  const legend = el("ul", "legend");
  for (const [name, count] of parts) {
    const piece = el("span", "piece");
    piece.dataset.section = name;
    piece.style.flexGrow = count;
    bar.append(piece);
    const item = el("li", "", el("span", "", tcode("section", name)), el("b", "", number(count)));
    item.dataset.section = name;
    legend.append(item);
  }
  const heading = el("h3", "", t("budget"), el("span", "count", t("budget_of", of)));
  const share = window ? el("p", "quiet", t("share", { share: percent(used / window), reserve: number(reserve) })) : null;
  const { history, history_limit: limit } = ledger.budget ?? {};
  const talk = limit ? el("p", "quiet", t("history", { used: number(history), all: number(limit) })) : null;
  return el("section", "budget", heading, bar, legend, share, talk);
}

function facts(ledger) {
  const list = el("dl", "facts");
  const fact = (name, value) => value && list.append(el("dt", "", t(name)), el("dd", "", String(value)));
  fact("agent_is", ledger.agent);
  fact("model_is", ledger.model);
  fact("counted_by", ledger.tokenizer);
  fact("at", ledger.now_ms && moment(ledger.now_ms));
  fact("session", ledger.session);
  fact("revision", ledger.revision);
  const { prompt, completion } = ledger.usage ?? {};
  const usage = prompt === undefined ? null : el("p", "quiet", t("usage", { in: number(prompt), out: number(completion ?? 0) }));
  return el("div", "", list, usage);
}

function section(name, entries) {
  const count = { in: 0, cut: 0, out: 0 };
  entries.forEach((entry) => count[entry.verdict]++);
  const told = Object.keys(count).filter((verdict) => count[verdict]).map((verdict) => `${t(verdict)} ${count[verdict]}`);
  const heading = el("h3", "", el("span", "", tcode("section", name)), el("span", "count", `${told.join(" · ")} · ${tokens(injected(entries))}`));
  heading.dataset.section = name;
  return el("section", "part", heading, el("ol", "entries", ...entries.map(drawEntry)));
}

function drawEntry(entry) {
  const role = ["user", "assistant", "system", "memory"].includes(entry.role) ? t(`role_${entry.role}`) : entry.role;
  const speaker = entry.role === "assistant" && entry.speaker ? `${role} · ${entry.speaker}` : entry.speaker || role;
  const absent = entry.ids?.length ? "no_text" : "in_system"; // the role is no stored row
  const text = el("p", entry.text ? "text plain" : "quiet", entry.text || t(absent));
  text.dir = "auto";
  const verdict = el("p", "verdict", el("span", "pill", t(entry.verdict)), el("span", "", tcode("rule", entry.rule)));
  const item = el("li", "", el("p", "head", el("span", "name", speaker), el("span", "count", tokens(entry.tokens))), text, verdict);
  item.dataset.verdict = entry.verdict;
  item.dataset.role = entry.role;
  return item;
}

function learned(lessons) {
  const heading = el("h3", "", t("learned"));
  if (!lessons.length) return el("section", "", heading, el("p", "quiet", t("learned_none")));
  return el("section", "", heading, el("ol", "lessons", ...lessons.map(drawLesson)));
}

function drawLesson(lesson) {
  const text = el("p", lesson.text ? "text plain" : "quiet", lesson.text || t("no_text"));
  text.dir = "auto";
  const kept = t(lesson.verdict === "in" ? "learned_in" : "learned_out");
  const why = lesson.reason || lessonOf(lesson.rule);
  const verdict = el("p", "verdict", el("span", "pill", kept), el("span", "", t("lesson_why", { why, by: tcode("by", lesson.by) })));
  const item = el("li", "", text, verdict);
  item.dataset.verdict = lesson.verdict;
  return item;
}

/** The words for what became of it: `profile_like` is the profile's, in the slot `like`. */
function lessonOf(rule) {
  const [, where, slot] = /^(fact|profile|pinned|retracted)_(.+)$/.exec(rule) ?? [];
  return where ? t(`lesson_${where}`, { slot: slot.replaceAll("_", " ") }) : tcode("lesson", rule);
}

function systemBlock(text) {
  if (!text) return null;
  const pre = el("pre", "", text);
  pre.tabIndex = 0;
  return el("details", "", el("summary", "", t("system")), pre);
}
