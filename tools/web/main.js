"use strict";
// Selects the view by the address after #. A page written by `sgoodput show --html` has one run, one by `page` the fleet of
// clusters; both have no daemon.

const page = {
  AGAIN_MS: 5000,
  current: null,
  turn: 0,

  route() {
    const [view, ...rest] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
    if (view === "run") return {name: "run", show: (main) => run.view(main, {cluster: rest[0], run: rest[1], user: rest[2]})};
    if (view === "job") return {name: "run", show: (main) => run.view(main, {cluster: rest[0], job: rest[1], submitted: page.second(rest[2])})};
    if (view === "fleet") return {name: "fleet", show: (main) => fleet.view(main)};
    return {name: "list", show: (main) => list.view(main)};
  },

  // A submit time in whole seconds, in the form that --submitted accepts.
  second(ns) {
    return /^\d+$/.test(ns || "") ? "@" + Math.floor(Number(ns) / 1e9) : undefined;
  },

  failed(main, error) {
    const box = card("Error", el("p", {}, error.message));
    box.classList.add("error");
    main.replaceChildren(box);
  },

  async show() {
    const main = document.getElementById("view");
    const turn = ++page.turn;
    const route = page.route();
    document.title = "slurm-goodput";
    tip.hide();
    for (const link of document.querySelectorAll("nav a")) {
      if (link.dataset.view === route.name) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    page.current = null;
    try {
      const current = await route.show(main);
      if (turn === page.turn) page.current = current;
    } catch (error) {
      if (turn === page.turn) page.failed(main, error);
    }
    page.said();
  },

  said() {
    const at = new Date();
    document.getElementById("live").textContent = `as of ${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())} ${zone()}` + (page.current && page.current.again ? ", live" : "");
  },

  async again() {
    const current = page.current;
    if (!current || !current.again || document.hidden) return;
    try {
      await current.again();
      page.said();
    } catch (error) {
      document.getElementById("live").textContent = error.message;
    }
  },

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName);
    if (typing && event.key !== "Escape") return;
    if (event.key === "Enter" && event.target.closest("a, button, summary")) return;
    const everywhere = {
      Escape: () => { if (typing) event.target.blur(); else location.hash = "#/"; },
      l: () => { location.hash = "#/"; },
      f: () => { location.hash = "#/fleet"; },
      "?": () => document.getElementById("keys").showModal(),
    };
    if (document.getElementById("keys").open) return;
    const action = (page.current && page.current.keys && page.current.keys[event.key]) || everywhere[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  },

  // On paper nothing can be unfolded.
  unfold() {
    for (const details of document.querySelectorAll("details:not([open])")) {
      details.open = true;
      details.dataset.printed = "";
    }
  },
  fold() {
    for (const details of document.querySelectorAll("details[data-printed]")) {
      details.open = false;
      delete details.dataset.printed;
    }
  },

  start() {
    draw.patterns();
    addEventListener("beforeprint", page.unfold);
    addEventListener("afterprint", page.fold);
    const embedded = data.embedded();
    if (embedded) {
      document.querySelector("nav").hidden = true;
      const main = document.getElementById("view");
      if (embedded.fleet) return fleet.written(main, embedded.fleet);
      document.getElementById("live").textContent = "written by sgoodput show --html";
      run.paint(main, embedded.jobs[0]);
      return;
    }
    addEventListener("hashchange", page.show);
    addEventListener("keydown", page.key);
    setInterval(page.again, page.AGAIN_MS);
    page.show();
  },
};

page.start();
