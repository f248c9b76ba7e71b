"use strict";
// Sorts and filters the tables, and says how old the page is. Without it, everything can be read.
(() => {
  const words = (seconds) => {
    for (const [unit, length] of [["day", 86400], ["hour", 3600], ["minute", 60]]) {
      if (seconds >= length) {
        const count = Math.floor(seconds / length);
        return `${count} ${unit}${count === 1 ? "" : "s"}`;
      }
    }
    return "less than a minute";
  };

  const age = document.getElementById("age");
  const tell = () => {
    const seconds = Date.now() / 1000 - Number(document.body.dataset.time);
    if (seconds >= Number(document.body.dataset.oldAfter)) {
      age.textContent = `This page is ${words(seconds)} old.`;
      age.hidden = false;
    }
  };
  tell();
  setInterval(tell, 60000);

  const value = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.value === undefined ? cell.textContent.trim() : cell.dataset.value;
  };
  const compare = (one, other) => {
    // What is not known comes last.
    if (one === "" || other === "") return (one === "") - (other === "");
    const difference = Number(one) - Number(other);
    return Number.isNaN(difference) ? one.localeCompare(other) : difference;
  };
  const sort = (table, heading, column) => {
    const falls = heading.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", falls ? "descending" : "ascending");
    const rows = [...table.tBodies[0].rows];
    rows.sort((one, other) => {
      const [first, second] = [value(one, column), value(other, column)];
      return first === "" || second === "" || !falls ? compare(first, second) : compare(second, first);
    });
    table.tBodies[0].append(...rows);
  };

  for (const table of document.querySelectorAll("table")) {
    [...table.tHead.rows[0].cells].forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      button.addEventListener("click", () => sort(table, heading, column));
      heading.append(button);
    });
    if (table.tBodies[0].rows.length < 8) continue;
    const label = document.createElement("label");
    const input = document.createElement("input");
    input.type = "search";
    label.append(`Filter: ${table.dataset.label} `, input);
    input.addEventListener("input", () => {
      const wanted = input.value.toLowerCase();
      for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
    table.parentElement.before(label);
  }
})();
