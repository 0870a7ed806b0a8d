"use strict";
// Keys, lists that submit themselves, and the dialog that explains the keys. Every page works without it.
(() => {
  const typing = (element) => element.closest("input, textarea, select, [contenteditable]");
  const entries = () => [...document.querySelectorAll("[data-entry]")];
  let leading = false;

  const step = (by) => {
    const all = entries();
    if (!all.length) return;
    const now = all.findIndex((each) => each.classList.contains("here"));
    const next = all[Math.min(Math.max(now + by, 0), all.length - 1)];
    all.forEach((each) => each.classList.toggle("here", each === next));
    const link = next.querySelector("a, input, button, summary");
    if (link) link.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && typing(event.target)) event.target.blur();
    if (typing(event.target) && event.target.type !== "checkbox") return;
    const page = document.querySelector(`nav a[data-key="${CSS.escape(event.key)}"]`);
    if (leading && page) {
      leading = false;
      page.click();
      return;
    }
    leading = event.key === "g";
    if (event.key === "/") {
      const search = document.querySelector("[data-search]");
      if (search) search.focus();
      else document.querySelector('nav a[data-key="m"]')?.click();
      event.preventDefault();
    } else if (event.key === "?") {
      document.getElementById("keys")?.showModal();
    } else if (event.key === "n" || event.key === "p") {
      step(event.key === "n" ? 1 : -1);
    } else if (event.key === "x") {
      const box = document.querySelector(".here input[type=checkbox]");
      if (box) box.checked = !box.checked;
    }
  });

  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-submits]")) event.target.form.requestSubmit();
  });

  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-opens]");
    if (opener) document.getElementById(opener.dataset.opens)?.showModal();
  });
})();
