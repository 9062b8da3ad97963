// What stands beside the talk, or over it where the screen is narrow: one panel at a time, and closing it gives the focus back.

const wide = matchMedia("(min-width: 1080px)");
let standing = null; // the panel that is open

/** Makes an element of text and other elements; null children are left out. */
export function el(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** Lets a dialog open as a panel. `closed` is called whenever it has closed. */
export function panel(dialog, closed) {
  let opener = null;
  const self = {
    shown: () => dialog.open,
    /** Opens it; closing gives the focus back to `from`. */
    open(from) {
      if (standing !== self) standing?.close();
      standing = self;
      opener = from;
      if (!dialog.open) wide.matches ? dialog.show() : dialog.showModal();
      dialog.querySelector(".close").focus();
    },
    close() {
      if (standing === self) standing = null;
      if (dialog.open) dialog.close();
    },
  };
  dialog.addEventListener("close", () => {
    if (dialog.open) return; // opened again meanwhile
    if (standing === self) standing = null; // closed by the browser
    closed();
    // Streaming may have drawn the button anew: then the message field is the next best place.
    if (!standing) (opener?.isConnected ? opener : document.querySelector("#text")).focus();
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "Escape") self.close(); // a dialog that is not modal has no Escape of its own
  });
  dialog.querySelector(".close").addEventListener("click", self.close);
  wide.addEventListener("change", self.close);
  return self;
}
