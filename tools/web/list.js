"use strict";
// The list of runs, newest first: filtered while typing, sorted by a click on a title, opened by click or Enter.

const list = {
  PAGE: 100,
  MOST: 2000,
  since: "now-7days",
  filter: "",
  sort: {by: "Submitted", up: false},
  chosen: -1,

  // n: a number; wide: not on a narrow screen; of: what the column is sorted by.
  COLUMNS: [
    {name: "Run", of: (job) => job.run || `job ${job.job_id}`}, {name: "Cluster", wide: 1, of: (job) => job.cluster}, {name: "User", of: (job) => job.user},
    {name: "Partition", wide: 1, of: (job) => job.partition || ""}, {name: "State", of: (job) => job.state}, {name: "GPUs", n: 1, of: (job) => job.gpus},
    {name: "Submitted", n: 1, wide: 1, of: (job) => job.submit_ns}, {name: "Wall", n: 1, of: (job) => job.wall_s},
    {name: "Scheduling", n: 1, wide: 1, of: (job) => job.goodput.scheduling}, {name: "Runtime", n: 1, wide: 1, of: (job) => list.runtime(job)[0]},
    {name: "Progress", n: 1, of: (job) => job.goodput.sg_rg}, {name: "Where it went"},
  ],

  hrefOf(job) {
    const cluster = encodeURIComponent(job.cluster);
    if (job.run !== null && job.run !== undefined) return `#/run/${cluster}/${encodeURIComponent(job.run)}/${encodeURIComponent(job.user)}`;
    return `#/job/${cluster}/${job.job_id}/${job.submit_ns}`;
  },

  matches(job, words) {
    const text = [job.run, job.job_id, job.name, job.user, job.account, job.partition, job.state, job.cluster].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  },

  // The lowest value, and the text.
  runtime(job) {
    const range = job.goodput.runtime_range;
    if (job.goodput.runtime !== null) return [job.goodput.runtime, percent(job.goodput.runtime)];
    return range ? [range[0], `${percent(range[0])} to ${percent(range[1])}`] : [null, "–"];
  },

  // Without a value last.
  compare(a, b) {
    const of = list.COLUMNS.find((column) => column.name === list.sort.by).of;
    const [one, other] = [of(a), of(b)];
    if (one === null || other === null) return (one === null) - (other === null);
    return (one < other ? -1 : one > other ? 1 : 0) * (list.sort.up ? 1 : -1);
  },

  row(job, clusters) {
    const n = (text, label, wide) => el("td", {class: "n" + (wide ? " wide" : ""), "data-label": label}, text);
    return el("tr", {class: "open", onclick: () => { location.hash = list.hrefOf(job); }},
      el("td", {class: "all"}, el("a", {href: list.hrefOf(job)}, job.run || `job ${job.job_id}`), " ", el("span", {class: "soft"}, job.name)),
      clusters ? el("td", {class: "wide"}, job.cluster) : null,
      el("td", {}, job.user), el("td", {class: "wide"}, job.partition || "–"), el("td", {}, job.state, stuck(job) ? el("div", {class: "stuck"}, stuck(job)) : null),
      n(job.gpus, "GPUs"), n(time(job.submit_ns).slice(5, 16), "submitted", true), n(duration(job.wall_s), "wall"),
      n(percent(job.goodput.scheduling), "scheduling", true), n(list.runtime(job)[1], "runtime", true), n(percent(job.goodput.sg_rg), "progress"),
      el("td", {class: "all"}, draw.bar(job.buckets, (bucket) => bucket.ns)));
  },

  title(column, sorted) {
    const direction = list.sort.by === column.name ? (list.sort.up ? "ascending" : "descending") : null;
    const arrow = direction === null ? "" : list.sort.up ? " ↑" : " ↓";
    const sort = () => {
      list.sort = {by: column.name, up: direction === "descending"};
      sorted(column.name);
    };
    return el("th", {scope: "col", class: [column.n ? "n" : "", column.wide ? "wide" : ""].join(" ").trim() || null, "aria-sort": direction},
      column.of ? el("button", {type: "button", onclick: sort}, column.name + arrow) : column.name);
  },

  async view(main) {
    let jobs = [], next = null, shown = [], last = Promise.resolve();
    const search = el("input", {type: "search", placeholder: "filter: run, user, partition, state …  ( / )", "aria-label": "filter", value: list.filter});
    const since = el("select", {"aria-label": "since"},
      [["today", "today"], ["now-7days", "7 days"], ["now-30days", "30 days"], ["now-365days", "a year"]].map(([value, text]) => el("option", {value, selected: value === list.since ? "" : null}, text)));
    const more = el("button", {type: "button", hidden: ""}, "more");
    const titles = el("tr");
    const body = el("tbody");
    const legend = el("div");
    const note = el("p", {class: "soft", role: "status"});
    const live = card("Now");
    const news = el("div");
    live.append(news);
    main.replaceChildren(el("h1", {class: "unseen"}, "Runs"), live, el("div", {class: "tools"}, search, since), card("Runs", el("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "runs"},
      el("table", {class: "runs"}, el("thead", {}, titles), body)), legend, note, more));

    function count() {
      if (jobs.length === 0) return "No runs in this time. goodputd records jobs from its first start on; choose a longer time, or see sgoodput doctor.";
      const all = counted(jobs.length, "run") + (next ? ", and more" : "");
      return shown.length < jobs.length ? `${shown.length} of ${all}` : all;
    }

    function paint() {
      const words = list.filter.toLowerCase().split(/\s+/).filter(Boolean);
      const clusters = new Set(jobs.map((job) => job.cluster)).size > 1;
      shown = jobs.filter((job) => list.matches(job, words)).sort(list.compare);
      titles.replaceChildren(...list.COLUMNS.filter((column) => clusters || column.name !== "Cluster").map((column) => list.title(column, (name) => {
        paint();
        [...titles.querySelectorAll("button")].find((button) => button.textContent.startsWith(name)).focus();
      })));
      body.replaceChildren(...shown.map((job) => list.row(job, clusters)));
      legend.replaceChildren(draw.legend(BUCKETS.filter((name) => shown.some((job) => job.buckets.some((bucket) => bucket.name === name && bucket.ns > 0)))));
      list.chosen = Math.min(list.chosen, shown.length - 1);
      choose(list.chosen);
      note.textContent = count();
      more.hidden = !next;
    }

    function choose(index) {
      list.chosen = index;
      [...body.children].forEach((row, i) => row.classList.toggle("chosen", i === index));
      if (index >= 0) body.children[index].scrollIntoView({block: "nearest"});
    }

    async function ask(after) {
      const answer = await data.ask("/v1/list", {starttime: list.since, allusers: 1, reverse: 1, limit: list.PAGE, after});
      return answer ? {jobs: answer.jobs, next: answer.next || null} : {jobs: [], next: null};
    }

    // One after the other: two at a time would mix their pages.
    function alone(work) {
      last = last.then(work, work);
      return last;
    }

    async function load() {
      const got = await ask(next);
      jobs = jobs.concat(got.jobs);
      next = got.next;
      paint();
    }

    // A filter, and another order than that of submission, concern all runs of the time.
    async function loadAll() {
      while (next && jobs.length < list.MOST && (list.filter !== "" || list.sort.by !== "Submitted")) await load();
    }

    // Shown once there are as many as before, so that the list does not shrink and grow again.
    async function refresh() {
      let fresh = await ask();
      while (fresh.next && fresh.jobs.length < jobs.length) {
        const got = await ask(fresh.next);
        fresh = {jobs: fresh.jobs.concat(got.jobs), next: got.next};
      }
      await now.paint(news);
      ({jobs, next} = fresh);
      paint();
      await loadAll();
    }

    search.addEventListener("input", () => { list.filter = search.value; paint(); alone(loadAll); });
    titles.addEventListener("click", () => alone(loadAll));
    since.addEventListener("change", () => { list.since = since.value; page.show(); });
    more.addEventListener("click", () => alone(async () => { if (next) await load(); }));
    await alone(refresh);
    return {
      again: () => alone(refresh),
      keys: {
        "/": () => search.focus(),
        j: () => choose(Math.min(list.chosen + 1, shown.length - 1)), ArrowDown: () => choose(Math.min(list.chosen + 1, shown.length - 1)),
        k: () => choose(Math.max(list.chosen - 1, 0)), ArrowUp: () => choose(Math.max(list.chosen - 1, 0)),
        Enter: () => { if (list.chosen >= 0) location.hash = list.hrefOf(shown[list.chosen]); },
      },
    };
  },
};
