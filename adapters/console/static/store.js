// What this browser keeps: preferences, and the exchanges of each room (a message and its answer), so that a reload loses
// nothing. One storage entry an exchange: two windows on the same room never overwrite each other.

const PREFS = "clew:prefs";
const EXCHANGE = "clew:x:";
const KEPT = 200; // exchanges a room

let full = () => {};
/** Calls `fn` when old exchanges had to go because the browser's storage is full. */
export const onFull = (fn) => (full = fn);

function read(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null; // forbidden, or not ours: as if absent
  }
}

export const prefs = () => read(PREFS) ?? {};

export function setPrefs(change) {
  try {
    localStorage.setItem(PREFS, JSON.stringify({ ...prefs(), ...change }));
  } catch {
    // the choice holds until the page is left
  }
}

const keyOf = (x) => `${EXCHANGE}${x.room}:${x.id}`;

/** The room's exchanges, oldest first. */
export function exchanges(room) {
  const prefix = `${EXCHANGE}${room}:`;
  const found = [];
  try {
    for (let i = 0; i < localStorage.length; i++) {
      const key = localStorage.key(i);
      if (key.startsWith(prefix)) found.push(read(key));
    }
  } catch {
    return []; // storage is forbidden: the page works without a memory of its own
  }
  return found.filter((x) => x?.id).sort((a, b) => a.at - b.at);
}

export function save(x) {
  const old = exchanges(x.room);
  old.slice(0, Math.max(0, old.length - KEPT)).forEach(forget);
  try {
    localStorage.setItem(keyOf(x), JSON.stringify(x));
  } catch (error) {
    if (error.name !== "QuotaExceededError" || old.length < 2) return;
    old.slice(0, Math.ceil(old.length / 2)).forEach(forget);
    full();
    save(x);
  }
}

function forget(x) {
  localStorage.removeItem(keyOf(x));
}

export const clear = (room) => exchanges(room).forEach(forget);

/** Calls `fn` with the exchange (null: gone) and its room, whenever another window changed it. */
export function onChange(fn) {
  addEventListener("storage", ({ key, newValue }) => {
    if (!key?.startsWith(EXCHANGE)) return;
    const [room, id] = key.slice(EXCHANGE.length).split(":");
    fn(newValue ? JSON.parse(newValue) : null, { room, id });
  });
}
