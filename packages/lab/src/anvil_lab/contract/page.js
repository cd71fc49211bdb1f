"use strict";
const buttons = [...document.querySelectorAll("button[aria-controls]")];
const open = (button, wanted) => {
  button.setAttribute("aria-expanded", String(wanted));
  document.getElementById(button.getAttribute("aria-controls")).hidden = !wanted;
};
for (const button of buttons) {
  button.addEventListener("click", () => open(button, button.getAttribute("aria-expanded") !== "true"));
  button.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const visible = buttons.filter((one) => one.offsetParent !== null);
    visible[visible.indexOf(button) + step]?.focus();
    event.preventDefault();
  });
}
const close = () => buttons.forEach((button) => button.offsetParent === null && open(button, false));
const emptied = () => document.querySelectorAll("tbody").forEach((body) => {
  const rows = [...body.querySelectorAll("tr.ours, tr.other")];
  body.hidden = false;
  body.hidden = !rows.some((row) => getComputedStyle(row).display !== "none");
});
for (const name of ["relied", "changed"]) {
  const box = document.getElementById(name);
  const shown = () => { document.body.classList.toggle(name, box.checked); close(); emptied(); };
  box.addEventListener("change", shown);
  shown();
}
