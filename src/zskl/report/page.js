"use strict";
// A click on a header sorts its table, a second one the other way round; #sort=TABLE:COLUMN in the address does so too.
(() => {
  const sort = (table, column) => {
    const heads = [...table.tHead.rows[0].cells];
    const head = heads[column];
    const numeric = head.classList.contains("number");
    const before = head.getAttribute("aria-sort");
    const down = before ? before === "ascending" : numeric; // numbers: largest first
    const value = (row) => {
      const cell = row.cells[column];
      return numeric ? Number(cell.dataset.value ?? NaN) : cell.textContent.toLowerCase();
    };
    const order = (a, b) => {
      const [x, y] = [value(a), value(b)];
      if (numeric && (Number.isNaN(x) || Number.isNaN(y))) return Number.isNaN(x) - Number.isNaN(y); // gaps last
      const found = numeric ? x - y : x.localeCompare(y, undefined, { numeric: true });
      return down ? -found : found;
    };
    table.tBodies[0].append(...[...table.tBodies[0].rows].sort(order));
    heads.forEach((one) => one.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
  };
  for (const table of document.querySelectorAll("table.sortable"))
    [...table.tHead.rows[0].cells].forEach((head, column) =>
      head.querySelector("button").addEventListener("click", () => sort(table, column)));
  const follow = () => {
    const found = /^#sort=([\w-]+):(\d+)$/.exec(location.hash);
    const table = found && document.getElementById(found[1]);
    if (!table || !table.tHead) return;
    table.closest("details")?.setAttribute("open", "");
    table.tHead.rows[0].cells[Number(found[2])]?.querySelector("button").click();
    table.scrollIntoView();
  };
  addEventListener("hashchange", follow);
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => one.setAttribute("open", "")));
  follow();
})();
