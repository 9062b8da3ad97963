// The gateway's side of the page: send a message, follow its turn, read the record of an answer.

const SEND_MS = 20_000;
const AT_ONCE = 4; // streams open at once: browsers allow six connections a host, and messages need one
const WAITS_MS = [1000, 2000, 4000, 8000, 15_000, 30_000];
export const TERMINAL = new Set(["answered", "observed", "ignored", "applied", "failed", "dead"]);

export class Refused extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

async function ask(url, init = {}) {
  const response = await fetch(url, { signal: AbortSignal.timeout(SEND_MS), cache: "no-store", ...init });
  if (response.ok) return response.json();
  const problem = await response.json().catch(() => ({}));
  throw new Refused(response.status, problem.detail ?? problem.title ?? `HTTP ${response.status}`);
}

export const info = () => ask("/chat/info");

const turnUrl = (channel, x, tail = "") =>
  `/channels/${encodeURIComponent(channel)}/turns/${encodeURIComponent(x.turn)}${tail}?token=${encodeURIComponent(x.token)}`;

/** Sends the exchange's message; sending it again is safe, the gateway knows its id. Returns the turn. */
export function send(channel, x, { group, language }) {
  const body = {
    room: x.room,
    chat_type: group ? "group" : "private",
    person: { id: x.person, name: x.name },
    message: { id: x.id, text: x.text },
    language,
  };
  return ask(`/channels/${encodeURIComponent(channel)}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
}

/** What the model saw in the exchange's turn. */
export const ledger = (x) =>
  ask(`/chat/turns/${encodeURIComponent(x.turn)}/ledger?token=${encodeURIComponent(x.token)}`);

/** What humans said in a room behind `after` (none: nothing yet, but where to begin): `{said: [{id, text, said_ms}], last}`. */
export const saidIn = ({ room, person, group, after }) =>
  ask(`/chat/said?${new URLSearchParams({ room, person, chat_type: group ? "group" : "private", ...(after && { after }) })}`);

/** What is remembered of a person of the page. */
export const memory = (person, language) => ask(`/chat/memory?${new URLSearchParams({ person, language })}`);

/** Forgets (`forget`, `forget-all`) or corrects (`correct`) what is remembered; returns what is remembered then. */
export const changeMemory = (act, body) =>
  ask(`/chat/memory/${act}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });

const waiting = [];
let open = 0;

/** Follows the turn to its end: `on.turn(view)`, `on.text(all)`, `on.end(view)`, `on.trouble()`, `on.lost()`. */
export function follow(channel, x, on) {
  waiting.push(() => stream(channel, x, on, 0));
  next();
}

function next() {
  while (open < AT_ONCE && waiting.length) {
    open++;
    waiting.shift()();
  }
}

function finished() {
  open--;
  next();
}

function stream(channel, x, on, tries) {
  const source = new EventSource(turnUrl(channel, x, "/events"));
  let text = "";
  const hear = (name, fn) =>
    source.addEventListener(name, (event) => {
      tries = 0;
      fn(JSON.parse(event.data));
    });
  const end = (view) => {
    source.close();
    finished();
    on.end(view);
  };
  hear("turn", (view) => on.turn(view));
  hear("delta", (delta) => on.text((text += delta.text)));
  hear("reset", (reset) => on.text((text = reset.text)));
  hear("done", end);
  hear("failed", end);
  source.onerror = async () => {
    on.trouble();
    // A lost connection is the browser's to mend, with Last-Event-ID. After a refusal it gives up; then we ask why.
    if (source.readyState !== EventSource.CLOSED) return;
    try {
      const view = await ask(turnUrl(channel, x));
      if (TERMINAL.has(view.status)) return end(view);
    } catch (error) {
      if (error.status === 404) {
        finished();
        return on.lost();
      }
    }
    setTimeout(() => stream(channel, x, on, tries + 1), WAITS_MS[Math.min(tries, WAITS_MS.length - 1)]);
  };
}
