// The page itself: rooms, people, the message field, languages and themes.

import * as drawer from "./drawer.js";
import * as known from "./known.js";
import * as log from "./log.js";
import * as store from "./store.js";
import * as talk from "./talk.js";
import { Refused } from "./wire.js";
import { language, setLanguage, t } from "./words.js";

const $ = (id) => document.getElementById(id);
const PEOPLE = ["alice", "bob"];
const ROOMS = ["private-alice", "private-bob", "group"];
const DEFAULT_NAMES = { en: { alice: "Alice", bob: "Bob" }, zh: { alice: "小艾", bob: "小博" } };
const COMMANDS = ["help", "new", "memory", "human", "agent"];
const THEMES = { auto: "◐", light: "☀", dark: "☾" };
const SPOKEN_CHARS = 600;

let room = ROOMS.includes(store.prefs().room) ? store.prefs().room : ROOMS[0];
let speaker = PEOPLE.includes(store.prefs().speaker) ? store.prefs().speaker : PEOPLE[0];
const unread = new Set();
const drafts = {};
const text = $("text");

const isGroup = (id) => id === "group";
const ownerOf = (id) => id.replace("private-", "");
const nameOf = (person) => store.prefs().names?.[person] || DEFAULT_NAMES[language()][person];
const about = (person) => ({ id: person, name: nameOf(person) });
const speaking = () => (isGroup(room) ? speaker : ownerOf(room));
// A Chinese name's last character tells people apart better than 小, 阿 or 老.
const initial = (name) => (/^\p{Script=Han}+$/u.test(name) ? [...name].at(-1) : [...name][0]);

function say(words) {
  talk.say({ room, person: speaking(), name: nameOf(speaking()), text: words });
  log.toEnd();
}

function tell(x) {
  known.heard(x.person);
  if (x.joined) return;
  if (x.room !== room && x.status !== "unsent") unread.add(x.room);
  const who = x.unasked ? t("unasked") : x.status === "unsent" ? t("unsent") : `${t("bot")} → ${x.name}`;
  announce(`${who}: ${(x.reply ?? x.error ?? t("applied")).slice(0, SPOKEN_CHARS)}`);
  drawState();
}

function announce(words) {
  $("announce").textContent = words;
}

// How the page stands

function drawState() {
  const here = talk.inRoom(room);
  $("empty").hidden = here.length > 0;
  const waits = here.some((x) => talk.busy(x) && x.person === speaking());
  if (!waits && document.activeElement === $("stop")) text.focus();
  $("stop").hidden = !waits;
  for (const tab of $("rooms").children) {
    const id = tab.dataset.room;
    tab.classList.toggle("busy", talk.inRoom(id).some(talk.busy));
    tab.classList.toggle("unread", unread.has(id));
    tab.querySelector(".state").textContent = unread.has(id) ? t("unread") : "";
  }
}

function drawRooms() {
  const tabs = ROOMS.map((id) => {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.role = "tab";
    tab.id = `tab-${id}`;
    tab.dataset.room = id;
    const label = isGroup(id) ? [t("group_tab"), PEOPLE.map(nameOf).join(" · ")] : [nameOf(ownerOf(id)), t("private_of")];
    tab.append(...["mark", "label", "detail", "state"].map((name) => Object.assign(document.createElement("span"), { className: name })));
    tab.querySelector(".mark").dataset.person = isGroup(id) ? "group" : ownerOf(id);
    if (!isGroup(id)) tab.querySelector(".mark").textContent = initial(label[0]);
    tab.querySelector(".mark").ariaHidden = "true";
    tab.querySelector(".label").textContent = label[0];
    tab.querySelector(".detail").textContent = label[1];
    tab.setAttribute("aria-controls", "room");
    tab.setAttribute("aria-selected", String(id === room));
    tab.tabIndex = id === room ? 0 : -1;
    tab.addEventListener("click", () => enter(id));
    return tab;
  });
  $("rooms").replaceChildren(...tabs);
}

function drawSpeakers() {
  const choices = PEOPLE.map((person) => {
    const label = document.createElement("label");
    const input = Object.assign(document.createElement("input"), { type: "radio", name: "speaker", value: person });
    input.checked = person === speaker;
    label.dataset.person = person;
    label.append(input, nameOf(person));
    return label;
  });
  $("speakers").replaceChildren($("speakers").querySelector("legend"), ...choices);
  $("speakers").hidden = !isGroup(room);
}

function drawTries() {
  const tries = ["try_1", "try_2", ...(isGroup(room) ? ["try_3"] : [])].map((key) => filler(t(key, { name: nameOf(speaking()) })));
  $("tries").replaceChildren(...tries);
  const commands = COMMANDS.filter((name) => name !== "agent" || talk.agents().length > 1);
  $("commands").replaceChildren(
    ...commands.map((name) => Object.assign(filler(`/${name}`), { title: t(`help_${name}`) })),
  );
}

function filler(words) {
  const button = Object.assign(document.createElement("button"), { type: "button", className: "try", textContent: words });
  button.addEventListener("click", () => {
    text.value = words;
    fit();
    text.focus();
  });
  return button;
}

function drawPage() {
  for (const node of document.querySelectorAll("[data-t]")) node.textContent = t(node.dataset.t);
  for (const node of document.querySelectorAll("[data-label]")) node.setAttribute("aria-label", t(node.dataset.label));
  for (const node of document.querySelectorAll("[data-hint]")) node.title = t(node.dataset.hint);
  const [agent] = talk.agents();
  const kind = agent?.model ? "agent_model" : agent?.kind === "demo" ? "agent_demo" : "agent";
  $("agent").textContent = agent ? t(kind, agent) : t("tagline");
  $("language").textContent = t("lang_switch");
  $("language").setAttribute("aria-label", t("lang_label"));
  $("language").lang = language() === "zh" ? "en" : "zh-Hans";
  drawTheme();
  drawRooms();
  drawRoom();
}

function drawRoom() {
  const names = { a: nameOf("alice"), b: nameOf("bob"), name: nameOf(speaking()) };
  const label = isGroup(room) ? t("group") : `${names.name} · ${t("private_of")}`;
  $("room-title").textContent = label;
  $("room").setAttribute("aria-labelledby", `tab-${room}`);
  $("room-about").textContent = t(isGroup(room) ? "group_about" : "private_about", names);
  $("empty-about").textContent = t(isGroup(room) ? "empty_group" : "empty_private", names);
  drawSpeakers();
  drawTries();
  text.placeholder = t("text_hint", names);
  text.value = drafts[room] ?? "";
  log.show(talk.inRoom(room));
  fit();
  drawState();
}

function drawTheme() {
  const theme = document.documentElement.dataset.theme;
  $("theme").firstElementChild.textContent = THEMES[theme];
  $("theme").setAttribute("aria-label", t(`theme_${theme}`));
  $("theme").title = t(`theme_${theme}`);
}

function enter(id) {
  drawer.close();
  drafts[room] = text.value;
  room = id;
  unread.delete(id);
  store.setPrefs({ room });
  for (const tab of $("rooms").children) {
    tab.setAttribute("aria-selected", String(tab.dataset.room === id));
    tab.tabIndex = tab.dataset.room === id ? 0 : -1;
  }
  drawRoom();
  known.turnTo(about(speaking()));
}

function fit() {
  text.style.height = "auto";
  text.style.height = `${text.scrollHeight}px`;
}

// What the person does

text.addEventListener("input", fit);
text.addEventListener("keydown", (event) => {
  // Enter that ends a composition (Chinese, Japanese, Korean input) belongs to the input method; 229 is Safari's way to say so.
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  event.preventDefault();
  $("composer").requestSubmit();
});

$("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  if (text.value.trim()) {
    say(text.value);
    text.value = drafts[room] = "";
    fit();
  }
  text.focus();
});

$("stop").addEventListener("click", () => say("/stop"));

$("speakers").addEventListener("change", (event) => {
  speaker = event.target.value;
  store.setPrefs({ speaker });
  text.placeholder = t("text_hint", { name: nameOf(speaker) });
  drawTries();
  drawState();
  known.turnTo(about(speaker));
});

$("rooms").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  enter(ROOMS[(ROOMS.indexOf(room) + step + ROOMS.length) % ROOMS.length]);
  $(`tab-${room}`).focus();
});

$("clear").addEventListener("click", () => {
  if (!confirm(t("clear_sure"))) return;
  talk.clear(room);
  drawRoom();
});

$("known-open").addEventListener("click", (event) => known.open(about(speaking()), event.currentTarget));

$("language").addEventListener("click", () => {
  const lang = language() === "zh" ? "en" : "zh";
  store.setPrefs({ lang });
  setLanguage(lang);
  drafts[room] = text.value;
  drawPage();
  drawer.redraw();
  known.turnTo(about(speaking()));
});

$("theme").addEventListener("click", () => {
  const names = Object.keys(THEMES);
  const theme = names[(names.indexOf(document.documentElement.dataset.theme) + 1) % names.length];
  document.documentElement.dataset.theme = theme;
  store.setPrefs({ theme });
  drawTheme();
});

$("names-open").addEventListener("click", () => {
  for (const person of PEOPLE) $("names").querySelector(`[name=${person}]`).value = nameOf(person);
  $("names").returnValue = "";
  $("names").showModal();
});

$("names-cancel").addEventListener("click", () => $("names").close());

$("names").addEventListener("close", () => {
  if ($("names").returnValue !== "save") return;
  const names = {};
  for (const person of PEOPLE) {
    const name = $("names").querySelector(`[name=${person}]`).value.trim();
    // A name left as it was follows the language.
    if (name && name !== DEFAULT_NAMES[language()][person]) names[person] = name;
  }
  store.setPrefs({ names });
  drafts[room] = text.value;
  drawPage();
  known.turnTo(about(speaking()));
});

// Beginning

known.listen({
  channel: talk.channel,
  // As after /forget all: what was said in private is no longer before the model either.
  forgotten: (person) => talk.say({ room: `private-${person}`, person, name: nameOf(person), text: "/new" }),
});
log.listen({ retry: talk.retry, ledger: drawer.open });
talk.listen({
  changed(exchanges) {
    exchanges.filter((x) => x.room === room).forEach(log.update);
    drawState();
  },
  ended: tell,
  removed(where) {
    if (where === room) log.show(talk.inRoom(room));
    drawState();
  },
});
store.onFull(() => announce(t("storage_full")));
talk.open(ROOMS);
drawPage();
text.focus();
talk.hearHumans(() => ({ room, person: speaking() }));
try {
  await talk.begin();
} catch (error) {
  announce(error instanceof Refused ? error.message : t("unsent_net"));
}
drawPage();
