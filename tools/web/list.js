"use strict";
// The list of runs, newest first: filtered while typing, opened by click or Enter.

const list = {
  PAGE: 100,
  since: "now-7days",
  filter: "",
  chosen: -1,

  hrefOf(job) {
    const cluster = encodeURIComponent(job.cluster);
    if (job.run !== null && job.run !== undefined) return `#/run/${cluster}/${encodeURIComponent(job.run)}/${encodeURIComponent(job.user)}`;
    return `#/job/${cluster}/${job.job_id}/${job.submit_ns}`;
  },

  matches(job, words) {
    const text = [job.run, job.job_id, job.name, job.user, job.account, job.partition, job.state].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  },

  row(job) {
    const n = (text, label, wide) => el("td", {class: "n" + (wide ? " wide" : ""), "data-label": label}, text);
    const range = job.goodput.runtime_range;
    const runtime = job.goodput.runtime !== null ? percent(job.goodput.runtime)
      : range ? `${percent(range[0])} to ${percent(range[1])}` : "–";
    return el("tr", {class: "open", onclick: () => { location.hash = list.hrefOf(job); }},
      el("td", {class: "all"}, el("a", {href: list.hrefOf(job)}, job.run || `job ${job.job_id}`), " ", el("span", {class: "soft"}, job.name)),
      el("td", {}, job.user), el("td", {class: "wide"}, job.partition || "–"), el("td", {}, job.state, stuck(job) ? el("div", {class: "stuck"}, stuck(job)) : null),
      n(job.gpus, "GPUs"), n(time(job.submit_ns).slice(5, 16), "submitted", true), n(duration(job.wall_s), "wall"),
      n(percent(job.goodput.scheduling), "scheduling", true), n(runtime, "runtime", true), n(percent(job.goodput.sg_rg), "progress"),
      el("td", {class: "all"}, draw.bar(job.buckets, (bucket) => bucket.ns)));
  },

  async view(main) {
    let jobs = [], next = null, shown = [];
    const search = el("input", {type: "search", placeholder: "filter: run, user, partition, state …  ( / )", "aria-label": "filter", value: list.filter});
    const since = el("select", {"aria-label": "since"},
      [["today", "today"], ["now-7days", "7 days"], ["now-30days", "30 days"], ["now-365days", "a year"]].map(([value, text]) => el("option", {value, selected: value === list.since ? "" : null}, text)));
    const more = el("button", {type: "button", hidden: ""}, "more");
    const body = el("tbody");
    const note = el("p", {class: "soft"});
    const columns = ["Run", "User", "Partition", "State", "GPUs", "Submitted", "Wall", "Scheduling", "Runtime", "Progress", "Where it went"];
    const live = card("Now");
    const news = el("div");
    live.append(news);
    main.replaceChildren(live, el("div", {class: "tools"}, search, since), card("", el("div", {class: "scroll"},
      el("table", {class: "runs"}, el("thead", {}, el("tr", {}, columns.map((name, i) => el("th", {class: [i >= 4 && i <= 9 ? "n" : "", [2, 5, 7, 8].includes(i) ? "wide" : ""].join(" ").trim() || null}, name)))), body)), note, more));

    function paint() {
      const words = list.filter.toLowerCase().split(/\s+/).filter(Boolean);
      shown = jobs.filter((job) => list.matches(job, words));
      body.replaceChildren(...shown.map(list.row));
      list.chosen = Math.min(list.chosen, shown.length - 1);
      choose(list.chosen);
      note.textContent = jobs.length === 0 ? "No runs in this time." : shown.length < jobs.length ? `${shown.length} of ${jobs.length} runs` : `${jobs.length} run${jobs.length === 1 ? "" : "s"}` + (next ? ", and more" : "");
      more.hidden = !next;
    }

    function choose(index) {
      list.chosen = index;
      [...body.children].forEach((row, i) => row.classList.toggle("chosen", i === index));
      if (index >= 0) body.children[index].scrollIntoView({block: "nearest"});
    }

    async function load(after) {
      const answer = await data.ask("/v1/list", {starttime: list.since, allusers: 1, reverse: 1, limit: list.PAGE, after});
      const got = answer ? answer.jobs : [];
      jobs = after ? jobs.concat(got) : got;
      if (!after) await now.paint(news);
      next = answer && answer.next ? answer.next : null;
      paint();
    }

    search.addEventListener("input", () => { list.filter = search.value; paint(); });
    since.addEventListener("change", () => { list.since = since.value; page.show(); });
    more.addEventListener("click", () => load(next));
    await load();
    return {
      again: () => load(),
      keys: {
        "/": () => search.focus(),
        j: () => choose(Math.min(list.chosen + 1, shown.length - 1)), ArrowDown: () => choose(Math.min(list.chosen + 1, shown.length - 1)),
        k: () => choose(Math.max(list.chosen - 1, 0)), ArrowUp: () => choose(Math.max(list.chosen - 1, 0)),
        Enter: () => { if (list.chosen >= 0) location.hash = list.hrefOf(shown[list.chosen]); },
      },
    };
  },
};
