// Headings of columns become buttons that sort. Without this script the tables stand
// in their own order.
"use strict";
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  if (body.rows.length < 2) continue;
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const falling = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      body.append(...sorted([...body.rows], column, falling ? -1 : 1));
    });
  });
}

// sorted orders rows by a column: numbers by value before words, absent cells last
// either way, equal ones as they stood.
function sorted(rows, column, sign) {
  const keys = new Map(rows.map(row => [row, key(row.cells[column])]));
  return rows.sort((a, b) => {
    const x = keys.get(a), y = keys.get(b);
    return x.rank - y.rank || sign * (x.rank === 0 ? x.number - y.number : x.text.localeCompare(y.text, "en", { numeric: true }));
  });
}

function key(cell) {
  const data = cell.querySelector("data"), text = cell.textContent.trim();
  if (data) return { rank: 0, number: Number(data.value) };
  return { rank: text === "" || text === "-" ? 2 : 1, text };
}
