// Renders the Markdown that models write as DOM nodes. Text only ever becomes text nodes and links only ever http(s):
// what a model or a person writes can't become markup.

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([\w+#.-]*)/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.+?)[ \t#]*$/;
const RULE = /^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,12})([-*+]|\d{1,9}[.)])[ \t]+(\S.*)$/;
const TABLE_RULE = /^ {0,3}\|?(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*(?::?-+:?[ \t]*)?$/;
// Every repeat is bounded, so that no text takes more than linear time.
const INLINE = new RegExp(
  [
    "(?<tick>`{1,3})(?<code>[^\\n]{1,800}?)\\k<tick>",
    "\\*\\*(?<strong>\\S(?:[^\\n]{0,400}?\\S)?)\\*\\*",
    "\\*(?<em>[^\\s*](?:[^\\n*]{0,400}?[^\\s*])?)\\*",
    "(?<![\\p{L}\\p{N}_])_(?<em2>[^\\s_](?:[^\\n_]{0,400}?[^\\s_])?)_(?![\\p{L}\\p{N}_])",
    "~~(?<del>\\S(?:[^\\n~]{0,400}?\\S)?)~~",
    "\\[(?<label>[^\\]\\n]{1,400})\\]\\((?<href>https?://[^\\s)]{1,2000})\\)",
    "(?<url>https?://[^\\s<>\"'（）。，、！？；：“”]{1,2000})",
  ].join("|"),
  "gu",
);
const DEPTH = 6;

function el(tag, ...children) {
  const node = document.createElement(tag);
  node.append(...children);
  return node;
}

function link(href, label) {
  const a = el("a", label);
  a.href = href;
  a.target = "_blank";
  a.rel = "noopener noreferrer nofollow";
  return a;
}

/** Nodes of one line of text. */
function inline(text, depth = 0) {
  if (depth > DEPTH) return [text];
  const nodes = [];
  let from = 0;
  for (const match of text.matchAll(INLINE)) {
    nodes.push(text.slice(from, match.index));
    from = match.index + match[0].length;
    const g = match.groups;
    if (g.code !== undefined) nodes.push(el("code", g.code));
    else if (g.strong !== undefined) nodes.push(el("strong", ...inline(g.strong, depth + 1)));
    else if ((g.em ?? g.em2) !== undefined) nodes.push(el("em", ...inline(g.em ?? g.em2, depth + 1)));
    else if (g.del !== undefined) nodes.push(el("del", ...inline(g.del, depth + 1)));
    else if (g.href !== undefined) nodes.push(link(g.href, g.label));
    else {
      const url = g.url.replace(/[.,;:!?)\]*_~]+$/, "");
      nodes.push(link(url, url), g.url.slice(url.length));
    }
  }
  nodes.push(text.slice(from));
  return nodes.filter((node) => node !== "");
}

function lines(text) {
  return text.flatMap((line, i) => (i ? [el("br"), ...inline(line)] : inline(line)));
}

const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());

function table(head, rows) {
  const row = (tag, line) => el("tr", ...cells(line).map((cell) => el(tag, ...inline(cell))));
  const body = el("table", el("thead", row("th", head)), el("tbody", ...rows.map((line) => row("td", line))));
  const scroller = el("div", body);
  scroller.className = "wide";
  return scroller;
}

/** The block beginning at line `i`: its node, and the line after it. */
function block(all, i, depth) {
  const fence = FENCE.exec(all[i]);
  if (fence) {
    const end = all.findIndex((line, j) => j > i && line.trim().startsWith(fence[1]) && !line.trim().replaceAll(fence[1][0], ""));
    const stop = end < 0 ? all.length : end; // a fence still open while the reply streams
    const code = el("code", all.slice(i + 1, stop).join("\n"));
    if (fence[2]) code.dataset.language = fence[2];
    const pre = el("pre", code);
    pre.tabIndex = 0;
    return [pre, stop + 1];
  }
  const heading = HEADING.exec(all[i]);
  if (heading) return [el(`h${Math.min(6, heading[1].length + 3)}`, ...inline(heading[2])), i + 1];
  if (RULE.test(all[i])) return [el("hr"), i + 1];
  if (QUOTE.test(all[i])) {
    let j = i;
    while (j < all.length && QUOTE.test(all[j])) j++;
    return [el("blockquote", ...blocks(all.slice(i, j).map((line) => line.replace(QUOTE, "")), depth + 1)), j];
  }
  if (ITEM.test(all[i])) return list(all, i, depth);
  if (all[i].includes("|") && TABLE_RULE.test(all[i + 1] ?? "")) {
    let j = i + 2;
    while (j < all.length && all[j].includes("|")) j++;
    return [table(all[i], all.slice(i + 2, j)), j];
  }
  let j = i + 1;
  while (j < all.length && all[j].trim() && ![FENCE, HEADING, QUOTE, ITEM].some((re) => re.test(all[j]))) j++;
  return [el("p", ...lines(all.slice(i, j))), j];
}

function list(all, i, depth) {
  const [, indent, mark] = ITEM.exec(all[i]);
  const ordered = /\d/.test(mark);
  const node = el(ordered ? "ol" : "ul");
  if (ordered) node.start = parseInt(mark, 10);
  while (i < all.length) {
    const item = ITEM.exec(all[i]);
    if (!item || item[1].length !== indent.length || /\d/.test(item[2]) !== ordered) break;
    const inner = [item[3]];
    i++;
    while (i < all.length && (all[i].startsWith(`${indent}  `) || (!all[i].trim() && all[i + 1]?.startsWith(`${indent}  `)))) {
      inner.push(all[i++].slice(indent.length).replace(/^ {1,4}/, ""));
    }
    if (!all[i]?.trim() && ITEM.test(all[i + 1] ?? "")) i++; // a loose list
    const children = blocks(inner, depth + 1);
    node.append(el("li", ...(children[0]?.tagName === "P" ? [...children[0].childNodes, ...children.slice(1)] : children)));
  }
  return [node, i];
}

function blocks(all, depth) {
  if (depth > DEPTH) return [el("p", ...lines(all))];
  const nodes = [];
  let i = 0;
  while (i < all.length) {
    if (!all[i].trim()) {
      i++;
      continue;
    }
    const [node, next] = block(all, i, depth);
    nodes.push(node);
    i = next;
  }
  return nodes;
}

/** The text as nodes, ready to be put into the page. */
export function markdown(text) {
  return blocks(text.replaceAll("\r\n", "\n").split("\n"), 0);
}
