// The pages work without this; with it, by keyboard: j and k move, Enter opens, r restores, / searches.
(() => {
  const rows = [...document.querySelectorAll(".rows > li")];
  let at = -1;
  const go = (to) => {
    if (!rows.length) return;
    rows[at]?.classList.remove("current");
    at = Math.max(0, Math.min(rows.length - 1, to));
    rows[at].classList.add("current");
    rows[at].scrollIntoView({ block: "nearest" });
    rows[at].querySelector("a")?.focus({ preventScroll: true });
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input, select, textarea")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const link = (name) => document.querySelector(`a[rel=${name}]`)?.click();
    if (event.key === "j") go(at + 1);
    else if (event.key === "k") go(at - 1);
    else if (event.key === "r") document.querySelector("button[data-key=r]")?.click();
    else if (event.key === "u") document.querySelector("button[data-key=u]")?.click();
    else if (event.key === "n") link("next");
    else if (event.key === "p") link("prev");
    else if (event.key === "/") document.querySelector("input[type=search]")?.focus();
    else return;
    event.preventDefault();
  });
})();
