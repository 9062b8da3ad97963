// The talk of all rooms: what was said here, sent to the gateway, followed to its end, and kept.
//
// An exchange is a message and its answer: {id, room, at, person, name, text, status, turn, token, head, reply, rule, error, code},
// and how it stands in its room: `joined` (its answer stands under the next one), `behind` (another is answered first), `trouble`.
// What a human says unasked is an exchange without a message: `unasked`.

import * as store from "./store.js";
import * as wire from "./wire.js";
import { language, t } from "./words.js";

const SAVE_EVERY_MS = 500;
const HUMANS_MS = 4000; // between two looks for what humans said: there is no turn to follow
const exchanges = new Map(); // of all rooms, by id
const followed = new Set();

let about = { channel: "", agents: [] };
let on = { changed() {}, ended() {}, removed() {} };
/** Calls `changed(exchanges)`, `ended(exchange)` and `removed(room)` as things happen. */
export const listen = (handlers) => (on = handlers);

export const channel = () => about.channel;
export const agents = () => about.agents;
export const inRoom = (id) => [...exchanges.values()].filter((x) => x.room === id).sort((a, b) => a.at - b.at);
export const busy = (x) => !wire.TERMINAL.has(x.status) && !["unsent", "lost"].includes(x.status);

/** Reads what this browser keeps, and keeps up with its other windows. */
export function open(rooms) {
  for (const id of rooms) for (const x of store.exchanges(id)) exchanges.set(x.id, x);
  store.onChange((x, { room, id }) => {
    if (followed.has(id)) return; // ours: the stream knows better
    if (x) {
      exchanges.set(id, x);
      changed(x);
    } else {
      exchanges.delete(id);
      on.removed(room);
    }
  });
}

/** Learns the channel and its agents, and goes on with what was under way when the page was left. */
export async function begin() {
  about = await wire.info();
  // A message without a turn may or may not have arrived: sent again, with its own id, it is answered once.
  for (const x of [...exchanges.values()].filter(busy)) x.turn && x.token ? follow(x) : post(x);
}

/** Looks for what humans said in the room that `where()` gives ({room, person}), for as long as the page is seen. */
export function hearHumans(where) {
  lookForHumans(where);
  setInterval(() => document.hidden || lookForHumans(where), HUMANS_MS);
}

async function lookForHumans(where) {
  const { room, person } = where();
  const after = store.prefs().heard?.[room];
  try {
    const { said, last } = await wire.saidIn({ room, person, group: isGroup(room), after });
    if (last !== after) store.setPrefs({ heard: { ...store.prefs().heard, [room]: last } });
    for (const { id, text, said_ms } of said) {
      if (exchanges.has(id)) continue; // another window was faster
      const x = { id, room, at: said_ms, person, name: "", text: "", reply: text, status: "answered", unasked: true };
      keep(x);
      on.ended(x);
    }
  } catch {
    // the next look says it; that the gateway is away, the next message tells
  }
}

const isGroup = (room) => !room.startsWith("private");

export function say({ room, person, name, text }) {
  const x = { id: crypto.randomUUID(), room, at: Date.now(), person, name, text, status: "sending" };
  keep(x);
  post(x);
}

export function retry(x) {
  if (x.status !== "unsent") return say(x);
  x.status = "sending";
  keep(x);
  post(x); // the same id: what did arrive after all is not answered twice
}

export function clear(room) {
  inRoom(room).forEach((x) => exchanges.delete(x.id));
  store.clear(room);
}

async function post(x) {
  try {
    if (!about.channel) about = await wire.info(); // the gateway was away when the page began
    const view = await wire.send(about.channel, x, { group: isGroup(x.room), language: language() });
    take(x, view);
    x.token = view.token;
    keep(x);
    if (busy(x)) follow(x);
    else on.ended(x);
  } catch (error) {
    const denied = error.status === 401 || error.status === 403;
    const why = error instanceof wire.Refused ? error.message : t("unsent_net");
    Object.assign(x, { status: "unsent", error: denied ? t("unsent_denied") : why });
    keep(x);
    on.ended(x);
  }
}

function take(x, view) {
  x.turn = view.turn;
  x.head = view.part_of ?? view.turn;
  x.status = view.status;
  x.rule = view.rule;
  x.code = view.error?.code;
  x.error = view.error?.message || x.code;
  if (view.reply) x.reply = view.reply.text;
}

function follow(x) {
  if (followed.has(x.id)) return;
  followed.add(x.id);
  let saved = 0;
  const change = (values, { now = true } = {}) => {
    Object.assign(x, { trouble: false }, values);
    const time = Date.now();
    if (!now && time - saved < SAVE_EVERY_MS) return changed(x);
    saved = time;
    keep(x);
  };
  const end = () => {
    followed.delete(x.id);
    on.ended(x);
  };
  wire.follow(about.channel, x, {
    turn(view) {
      take(x, view);
      change({});
    },
    text(reply) {
      change({ reply, status: "running" }, { now: false });
    },
    end(view) {
      take(x, view);
      change({});
      end();
    },
    trouble() {
      x.trouble = true;
      changed(x);
    },
    lost() {
      change({ status: "lost" });
      end();
    },
  });
}

function keep(x) {
  exchanges.set(x.id, x);
  store.save({ ...x, trouble: undefined });
  changed(x);
}

function changed(x) {
  const here = inRoom(x.room);
  const all = new Set([x]);
  // Messages that were answered together share one answer: it stands under the last of them.
  const together = x.head ? here.filter((other) => other.head === x.head) : [];
  for (const other of together) {
    other.joined = other !== together.at(-1);
    all.add(other);
  }
  // A room's messages are answered in order: only the first open one is being worked on.
  const waiting = here.filter(busy);
  for (const other of waiting) {
    if (other.behind === (other !== waiting[0])) continue;
    other.behind = other !== waiting[0];
    all.add(other);
  }
  on.changed([...all]);
}
