// Runs before the first paint, so that a chosen theme or language does not flash.
(() => {
  let prefs = {};
  try {
    prefs = JSON.parse(localStorage.getItem("clew:prefs")) ?? {};
  } catch {
    // unreadable or forbidden storage: the browser's own preferences hold
  }
  const root = document.documentElement;
  root.dataset.theme = prefs.theme ?? "auto";
  const zh = prefs.lang ? prefs.lang === "zh" : /^zh\b/i.test(navigator.language);
  root.lang = zh ? "zh-Hans" : "en";
})();
