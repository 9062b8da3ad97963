// The little that pages do in the browser by themselves: the reader's own time zone, dialogs, live parts. All of it may be missing.
"use strict";

const language = document.documentElement.lang;
const full = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "long", hourCycle: "h23" }); // names the zone
const short = new Intl.DateTimeFormat(language, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const long = new Intl.DateTimeFormat(language, { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

function showTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]:not([title])")) {
    const moment = new Date(time.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    time.title = `${full.format(moment)} · ${time.dateTime}`;
    time.textContent = (moment.getFullYear() === new Date().getFullYear() ? short : long).format(moment);
  }
}

// <details class="confirm"> becomes a modal dialog: the browser keeps the focus inside, and gives it back.
function asDialogs(root) {
  for (const details of root.querySelectorAll("details.confirm")) {
    const summary = details.querySelector("summary");
    const form = details.querySelector("form");
    const button = Object.assign(document.createElement("button"), { type: "button", className: summary.className.replace("button", "") });
    const dialog = Object.assign(document.createElement("dialog"), { className: "confirm" });
    button.textContent = summary.textContent;
    button.setAttribute("aria-haspopup", "dialog");
    dialog.setAttribute("aria-label", form.getAttribute("aria-label"));
    const open = details.open;
    dialog.append(form);
    details.replaceWith(button, dialog);
    const cancel = form.querySelector("[data-cancel]");
    cancel.hidden = false;
    cancel.addEventListener("click", () => dialog.close());
    button.addEventListener("click", () => dialog.showModal());
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    if (open) dialog.showModal();
  }
}

// <… data-live="URL" data-live-at="start|end" data-live-most="200">: each event's data is a piece of HTML that is put there. The
// browser connects again by itself.
function goLive(root) {
  for (const place of root.querySelectorAll("[data-live]:not([data-live-state])")) {
    const source = new EventSource(place.dataset.live);
    const say = (state) => {
      place.dataset.liveState = state;
      for (const mark of document.querySelectorAll(`[data-live-mark="${place.id}"]`)) mark.dataset.liveState = state;
    };
    say("waiting");
    source.onopen = () => say("open");
    source.onerror = () => {
      say(source.readyState === EventSource.CLOSED ? "closed" : "waiting");
      if (!place.isConnected) source.close();
    };
    source.onmessage = (event) => {
      if (!place.isConnected) return source.close();
      const piece = document.createElement("template");
      piece.innerHTML = event.data;
      showTimes(piece.content);
      const atEnd = place.dataset.liveAt !== "start";
      const added = [...piece.content.children];
      place[atEnd ? "append" : "prepend"](piece.content);
      added.forEach((node) => htmx.process(node));
      const most = Number(place.dataset.liveMost || 200);
      while (place.children.length > most) (atEnd ? place.firstElementChild : place.lastElementChild).remove();
    };
    addEventListener("pagehide", () => source.close());
  }
}

function enrich(root) {
  showTimes(root);
  asDialogs(root);
  goLive(root);
}

// A form is sent once, however often its button is pressed.
document.addEventListener("submit", (event) => {
  if (event.defaultPrevented || event.target.method !== "post") return;
  if (event.target.dataset.sent) return event.preventDefault();
  event.target.dataset.sent = "yes";
  setTimeout(() => delete event.target.dataset.sent, 5000); // a download leaves the page where it is
});
addEventListener("pageshow", () => document.querySelectorAll("form[data-sent]").forEach((form) => delete form.dataset.sent));

// A menu closes by Escape, and by a click beside it.
const menu = document.querySelector("details.me");
document.addEventListener("click", (event) => menu?.open && !menu.contains(event.target) && (menu.open = false));
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && menu?.open) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});

document.addEventListener("htmx:load", (event) => enrich(event.detail.elt.parentElement ?? document));
enrich(document);
