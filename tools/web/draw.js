"use strict";
// The drawings: a timeline of the run, and a waterfall from wanted time to progress.

const draw = {
  WIDTH: 1120,
  LEFT: 92,
  zoomed: false,

  // Stripes for those that the colour alone must not tell apart.
  patterns() {
    document.querySelector("#patterns defs").replaceChildren(...PATTERNS.map((name) =>
      svg("pattern", {id: `pattern-${name}`, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: `rotate(${name === "lost_work" ? 45 : -45})`},
        svg("rect", {width: 6, height: 6, plain: name}), svg("rect", {class: "stripe", width: 2, height: 6}))));
  },

  // Groups of items that would be drawn over each other.
  near(items, x, apart) {
    const groups = [];
    for (const item of items) {
      const at = x(item);
      const last = groups[groups.length - 1];
      if (last && at - last.at < apart) last.items.push(item);
      else groups.push({at, items: [item]});
    }
    return groups;
  },

  // The first of a group, and how many more there are.
  said(group, words) {
    const more = group.items.length - 1;
    return words(group.items[0]) + (more > 0 ? `\nand ${more} more here` : "");
  },

  legend(names) {
    return el("div", {class: "legend"}, names.map((name) => el("span", {}, el("i", {color: name}), name)));
  },

  bar(buckets, weight) {
    const total = buckets.reduce((sum, bucket) => sum + weight(bucket), 0);
    return el("div", {class: "bar", role: "img", "aria-label": buckets.filter((b) => weight(b) > 0).map((b) => `${b.name} ${percent(weight(b) / total)}`).join(", ")},
      buckets.filter((bucket) => weight(bucket) > 0).map((bucket) =>
        el("i", {color: bucket.name, width_percent: 100 * weight(bucket) / total, ...tip.on(`${bucket.name} ${percent(weight(bucket) / total)}`)})));
  },

  // One column for each day: the GPU time of each bucket, stacked.
  days(rows) {
    const holder = el("div", {});
    const of = (row, name) => row.buckets.find((bucket) => bucket.name === name).gpu_seconds;
    const names = BUCKETS.filter((name) => name !== "hold" && rows.some((row) => of(row, name) > 0));
    const totals = rows.map((row) => names.reduce((sum, name) => sum + of(row, name), 0));
    const most = Math.max(...totals);
    if (!(most > 0)) return el("p", {class: "soft"}, "No run wanted GPUs in this time.");
    const high = 170;
    const picture = svg("svg", {role: "img", "aria-label": "GPU-hours by day: " + rows.map((row, i) => `${row.group} ${hours(totals[i])}`).join(", ")});
    function paint() {
      const width = Math.max(340, Math.min(draw.WIDTH, holder.clientWidth || draw.WIDTH));
      const apart = (width - 60) / rows.length;
      const parts = [svg("text", {x: 0, y: 14}, `${hours(most)} GPU-h`), svg("line", {class: "axis", x1: 60, x2: width, y1: high, y2: high})];
      const every = Math.ceil(rows.length / Math.floor((width - 60) / 76));
      rows.forEach((row, i) => {
        let y = high;
        const text = `${row.group}\n` + names.filter((name) => of(row, name) > 0).map((name) => `${name} ${hours(of(row, name))} GPU-h`).join("\n");
        for (const name of [...names].reverse()) {
          const part = (high - 8) * of(row, name) / most;
          y -= part;
          if (part > 0) parts.push(svg("rect", {class: "day", x: 60 + i * apart + apart * 0.08, y, width: Math.min(apart * 0.84, 60), height: part, paint: name, ...tip.on(text)}));
        }
        if (i % every === 0) parts.push(svg("text", {x: 60 + i * apart, y: high + 15}, row.group.slice(5)));
      });
      picture.setAttribute("viewBox", `0 0 ${width} ${high + 20}`);
      picture.replaceChildren(...parts);
    }
    holder.append(picture);
    new ResizeObserver(() => paint()).observe(holder);
    paint();
    return el("div", {}, holder, draw.legend(names));
  },

  // Shares from 0 to 100 % over some periods, a line for each of `lines`: [label, key of a row]. A share that is not known
  // interrupts its line.
  shares(rows, lines) {
    const holder = el("div", {});
    const high = 170, top = 8, left = 44;
    const known = lines.filter(([, key]) => rows.some((row) => row[key] !== null && row[key] !== undefined));
    const picture = svg("svg", {role: "img", "aria-label": rows.map((row) => `${row.group}: ` + known.map(([label, key]) => `${label} ${percent(row[key])}`).join(", ")).join("; ")});
    const y = (share) => top + (high - top) * (1 - share);
    function paint() {
      const width = Math.max(340, Math.min(draw.WIDTH, holder.clientWidth || draw.WIDTH));
      const right = 90;
      const apart = (width - left - right) / Math.max(rows.length - 1, 1);
      const x = (i) => rows.length === 1 ? (left + width - right) / 2 : left + i * apart;
      const parts = [0, 0.5, 1].flatMap((share) => [svg("line", {class: "axis", x1: left, x2: width - right, y1: y(share), y2: y(share)}), svg("text", {x: 0, y: y(share) + 4}, `${100 * share} %`)]);
      const every = Math.ceil(rows.length / Math.floor((width - left - right) / 76));
      rows.forEach((row, i) => { if (i % every === 0) parts.push(svg("text", {x: x(i), y: high + 16, "text-anchor": "middle"}, row.group.slice(5))); });
      const ends = [];
      known.forEach(([label, key], n) => {
        const points = rows.map((row, i) => ({row, at: x(i), share: row[key]}));
        const there = (point) => point && point.share !== null && point.share !== undefined;
        const path = points.map((point, i) => there(point) ? `${there(points[i - 1]) ? "L" : "M"}${point.at} ${y(point.share)}` : "").join(" ");
        parts.push(svg("path", {class: `share share-${n}`, d: path}));
        for (const point of points.filter(there)) {
          parts.push(svg("circle", {class: `share share-${n}`, cx: point.at, cy: y(point.share), r: 3.5, ...tip.on(`${point.row.group}\n` + known.map(([name, other]) => `${name} ${percent(point.row[other])}`).join("\n"))}));
        }
        const last = points.filter(there).pop();
        ends.push({label, n, y: y(last.share)});
      });
      // Labels of lines that end close together move apart.
      ends.sort((a, b) => a.y - b.y).forEach((end, i) => {
        if (i > 0) end.y = Math.max(end.y, ends[i - 1].y + 13);
        parts.push(svg("text", {class: `ink label share-${end.n}`, x: width - right + 10, y: end.y + 4}, end.label));
      });
      picture.setAttribute("viewBox", `0 0 ${width} ${high + 22}`);
      picture.replaceChildren(...parts);
    }
    holder.append(picture);
    new ResizeObserver(() => paint()).observe(holder);
    paint();
    return holder;
  },

  // Up to `most` round times between `from` and `to`, in the reader's time zone.
  ticks(from, to, most) {
    const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000];
    const span = (to - from) / 1e9;
    const step = steps.find((s) => span / s <= most) || 7776000;
    const zone = -new Date(from / 1e6).getTimezoneOffset() * 60;
    const ticks = [];
    for (let t = Math.ceil((from / 1e9 + zone) / step) * step - zone; t * 1e9 <= to; t += step) ticks.push({at: t * 1e9, step});
    return ticks;
  },

  tickText(tick) {
    const at = new Date(tick.at / 1e6);
    const day = `${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
    if (tick.step >= 86400) return day;
    const clock = `${pad(at.getHours())}:${pad(at.getMinutes())}` + (tick.step < 60 ? ":" + pad(at.getSeconds()) : "");
    return at.getHours() === 0 && at.getMinutes() === 0 && at.getSeconds() === 0 ? day : clock;
  },

  // `job`: from /v1/show, with its timeline. Returns an element that zooms by dragging and by keys.
  timeline(job) {
    const begin = job.timeline.length ? job.timeline[0].begin_ns : job.submit_ns;
    const end = job.timeline.length ? job.timeline[job.timeline.length - 1].end_ns : job.submit_ns + job.wall_ns;
    let from = begin, to = Math.max(end, begin + 1);
    const height = 178;
    const picture = svg("svg", {tabindex: 0, role: "img", "aria-label": "timeline of the run; plus and minus zoom, arrows move, 0 shows all of it"});
    // All of the run, and which part of it is shown above.
    const overview = svg("svg", {class: "overview", "aria-hidden": "true"});
    const range = el("p", {class: "soft range"});

    // On a narrow screen the drawing gets narrower rather than scaled down, so that its text stays readable.
    const width = () => Math.max(340, Math.min(draw.WIDTH, picture.clientWidth || draw.WIDTH));
    const across = (ns, a, b) => draw.LEFT + (width() - draw.LEFT - 8) * (ns - a) / (b - a);
    const x = (ns) => across(ns, from, to);
    const visible = (a, b) => b > from && a < to;

    function rows() {
      const parts = [];
      const label = (text, y) => parts.push(svg("text", {class: "ink", x: 0, y}, text));
      for (const tick of draw.ticks(from, to, Math.min(8, Math.floor((width() - draw.LEFT) / 70)))) {
        parts.push(svg("line", {class: "axis", x1: x(tick.at), x2: x(tick.at), y1: 6, y2: 156}));
        const anchor = x(tick.at) > width() - 30 ? "end" : "middle";
        parts.push(svg("text", {x: Math.min(x(tick.at), width() - 1), y: 172, "text-anchor": anchor}, draw.tickText(tick)));
      }
      label("where it went", 36);
      for (const cell of job.timeline) {
        if (!visible(cell.begin_ns, cell.end_ns)) continue;
        const left = Math.max(x(cell.begin_ns), draw.LEFT), right = Math.min(x(cell.end_ns), width() - 8);
        const shares = BUCKETS.filter((name) => cell.buckets[name]).map((name) => ({name, ns: cell.buckets[name]}));
        const text = shares.map((share) => `${share.name} ${duration(share.ns / 1e9)}`).join("\n") + `\n${time(cell.begin_ns)} to ${time(cell.end_ns, false)}`;
        // A cell with several buckets is drawn as a stack, in proportion to their time.
        let y = 14;
        for (const share of shares) {
          const part = 34 * share.ns / (cell.end_ns - cell.begin_ns);
          parts.push(svg("rect", {class: "cell", x: left, y, width: Math.max(right - left, 0.3), height: part, paint: share.name, ...tip.on(text)}));
          y += part;
        }
      }
      label("attempts", 74);
      job.attempts.forEach((attempt, i) => {
        if (attempt.start_ns === null) return;
        const stop = attempt.end_ns === null ? end : attempt.end_ns;
        if (!visible(attempt.start_ns, stop)) return;
        const left = Math.max(x(attempt.start_ns), draw.LEFT), right = Math.min(x(stop), width() - 8);
        const steps = attempt.first_step === null ? "no steps seen" : `steps ${attempt.first_step} to ${attempt.last_step}, kept to ${attempt.kept_step === null ? "none" : attempt.kept_step}`;
        parts.push(svg("rect", {class: "attempt", x: left, y: 60, width: Math.max(right - left, 1), height: 18,
          ...tip.on(`attempt ${i + 1}, ${attempt.state}\n${counted(attempt.nodes, "node")}${attempt.gpus ? ", " + counted(attempt.gpus, "GPU") : ""}\n${steps}\n${time(attempt.start_ns)} to ${attempt.end_ns === null ? "now" : time(attempt.end_ns, false)}`)}));
        if (right - left > 16) parts.push(svg("text", {class: "ink", x: left + 4, y: 73, "pointer-events": "none"}, i + 1));
      });
      label("interrupted", 102);
      const shown = (ns) => ns >= from && ns <= to;
      for (const group of draw.near(job.interruptions.filter((stop) => shown(stop.time_ns)), (stop) => x(stop.time_ns), 9)) {
        const planned = group.items.every((stop) => stop.planned);
        parts.push(svg("path", {class: planned ? "planned" : "stop", d: `M${group.at} 106 l-6 -12 h12 z`,
          ...tip.on(draw.said(group, (stop) => `${stop.cause}${stop.planned ? ", planned" : ""}${stop.node ? ", " + stop.node : ""}\n${time(stop.time_ns)}\n${stop.evidence.join("; ")}`))}));
      }
      label("signals", 126);
      const signalled = draw.deliveries(job.signals).filter((signal) => shown(signal.time_ns));
      for (const group of draw.near(signalled, (signal) => x(signal.time_ns), 3)) {
        const text = draw.said(group, (signal) => `${signal.signal} from ${signal.sender || "an unknown sender"} to ${signal.tasks} tasks\n${time(signal.time_ns)}\n${draw.outcome(signal)}`);
        parts.push(svg("line", {class: "signal", x1: group.at, x2: group.at, y1: 116, y2: 130, ...tip.on(text)}));
        parts.push(svg("rect", {x: group.at - 4, y: 114, width: 8, height: 18, fill: "transparent", ...tip.on(text)}));
      }
      label("checkpoints", 150);
      const done = (save) => save.complete_ns !== null;
      for (const whole of [true, false]) {
        const saves = job.checkpoints.filter((save) => shown(save.begin_ns) && done(save) === whole);
        for (const group of draw.near(saves, (save) => x(save.begin_ns), 4)) {
          parts.push(svg("circle", {class: whole ? "saved" : "unsaved", cx: group.at, cy: 146, r: 4,
            ...tip.on(draw.said(group, (save) => `checkpoint${save.step === null ? "" : " of step " + save.step}, ${whole ? "complete after " + duration((save.complete_ns - save.begin_ns) / 1e9) : "never complete"}\n${time(save.begin_ns)}\nevidence: ${save.evidence}`))}));
        }
      }
      return parts;
    }

    function rowsOfAll() {
      const all = (ns) => across(ns, begin, Math.max(end, begin + 1));
      const parts = job.timeline.map((cell) => {
        const largest = Object.entries(cell.buckets).reduce((a, b) => b[1] > a[1] ? b : a)[0];
        return svg("rect", {x: all(cell.begin_ns), y: 3, width: Math.max(all(cell.end_ns) - all(cell.begin_ns), 0.3), height: 10, paint: largest});
      });
      return [...parts, svg("rect", {class: "window", x: all(from), y: 1, width: Math.max(all(to) - all(from), 3), height: 14})];
    }

    function paint() {
      picture.setAttribute("viewBox", `0 0 ${width()} ${height}`);
      picture.replaceChildren(...rows());
      // It keeps its room, so that the buttons stay where they are.
      overview.classList.toggle("shown", draw.zoomed);
      overview.setAttribute("viewBox", `0 0 ${width()} 16`);
      overview.replaceChildren(...(draw.zoomed ? rowsOfAll() : []));
      range.textContent = from === begin && to >= end ? `${time(begin)} to ${time(end)} ${zone()}, all of it` : `${time(from)} to ${time(to)}, ${duration((to - from) / 1e9)} of ${duration((end - begin) / 1e9)}`;
    }

    function look(a, b) {
      const span = Math.min(Math.max(b - a, 1e6), Math.max(end - begin, 1));
      from = Math.min(Math.max(a, begin), Math.max(end, begin + 1) - span);
      to = from + span;
      draw.zoomed = span < end - begin;
      paint();
    }

    const zoom = (factor) => { const middle = (from + to) / 2, half = (to - from) / 2 * factor; look(middle - half, middle + half); };
    const move = (share) => look(from + share * (to - from), to + share * (to - from));
    const keys = {"+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), ArrowLeft: () => move(-0.3), ArrowRight: () => move(0.3), 0: () => look(begin, end)};
    picture.addEventListener("keydown", (event) => {
      if (!keys[event.key] || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      event.stopPropagation();
      keys[event.key]();
    });
    const timeAt = (event, of, a, b) => {
      const box = of.getBoundingClientRect();
      const scale = width() / box.width;
      return a + (b - a) * Math.min(1, Math.max(0, ((event.clientX - box.left) * scale - draw.LEFT) / (width() - draw.LEFT - 8)));
    };
    const at = (event) => timeAt(event, picture, from, to);
    const center = (event) => {
      const middle = timeAt(event, overview, begin, end), half = (to - from) / 2;
      look(middle - half, middle + half);
    };
    let moving = false;
    overview.addEventListener("pointerdown", (event) => { moving = true; center(event); });
    overview.addEventListener("pointermove", (event) => { if (moving) center(event); });
    addEventListener("pointerup", () => { moving = false; });
    let dragged = null;
    picture.addEventListener("pointerdown", (event) => { dragged = at(event); });
    picture.addEventListener("pointermove", (event) => {
      if (dragged === null) return;
      picture.querySelector(".drag")?.remove();
      const a = x(dragged), b = x(at(event));
      picture.append(svg("rect", {class: "drag", x: Math.min(a, b), y: 6, width: Math.abs(b - a), height: 150}));
    });
    addEventListener("pointerup", (event) => {
      if (dragged === null) return;
      const a = Math.min(dragged, at(event)), b = Math.max(dragged, at(event));
      dragged = null;
      picture.querySelector(".drag")?.remove();
      if (b - a > (to - from) / 100) look(a, b);
    });
    new ResizeObserver(() => paint()).observe(picture);
    paint();
    const used = BUCKETS.filter((name) => job.timeline.some((cell) => cell.buckets[name]));
    const buttons = el("div", {class: "tools"},
      [["zoom in", "+"], ["zoom out", "-"], ["earlier", "ArrowLeft"], ["later", "ArrowRight"], ["all", "0"]].map(([text, key]) => el("button", {type: "button", onclick: () => keys[key]()}, text)));
    return el("div", {}, picture, overview, range, buttons, draw.legend(used));
  },

  // Combines the signals of a delivery's tasks into one element.
  deliveries(signals) {
    const found = new Map();
    for (const signal of signals) {
      const key = `${signal.time_ns} ${signal.signal} ${signal.sender}`;
      const known = found.get(key);
      if (known) {
        known.tasks += signal.tasks;
        known.handled = known.handled === null || signal.handled === null ? null : known.handled && signal.handled;
      } else {
        found.set(key, {...signal});
      }
    }
    return [...found.values()];
  },

  outcome(signal) {
    const words = {in_time: "checkpoint in time", cut_short: "the save was cut short", nothing: "no checkpoint", open: "not known yet", not_asked: "no checkpoint asked for"};
    return words[signal.outcome] || signal.outcome;
  },

  // One bar per bucket, from wanted time down to progress, each starting where the previous one ended.
  waterfall(job) {
    const weight = (bucket) => job.gpus > 0 ? bucket.gpu_seconds : bucket.seconds;
    const counted = job.buckets.filter((bucket) => weight(bucket) > 0 && bucket.side !== "excluded");
    const total = counted.reduce((sum, bucket) => sum + weight(bucket), 0);
    const productive = counted.filter((bucket) => bucket.side === "productive");
    const rest = counted.filter((bucket) => bucket.side !== "productive");
    const unit = job.gpus > 0 ? "GPU-h" : "h";
    const line = 24;
    const holder = el("div", {});
    if (total === 0) return el("p", {class: "soft"}, "no time was wanted yet");
    const picture = svg("svg", {role: "img", "aria-label": "waterfall: " + counted.map((b) => `${b.name} ${percent(weight(b) / total)}`).join(", ")});
    function paint() {
      const width = Math.max(340, Math.min(draw.WIDTH, holder.clientWidth || draw.WIDTH));
      const left = 136, right = width < 520 ? 62 : 170;
      const scale = (width - left - right) / total;
      let at = total, y = 4;
      const parts = [];
      const row = (name, a, b, paint, value, more) => {
        parts.push(svg("text", {class: "ink", x: 0, y: y + 15}, name));
        parts.push(svg("rect", {x: left + a * scale, y: y + 3, width: Math.max((b - a) * scale, 0.6), height: line - 7, rx: 2, paint, ...tip.on(more)}));
        parts.push(svg("text", {class: "ink", x: width - right + 6, y: y + 15}, width < 520 ? percent(value / total) : `${percent(value / total)}  ${hours(value)} ${unit}`));
        y += line;
      };
      row("wanted", 0, total, "idle", total, `wanted: ${hours(total)} ${unit}`);
      for (const bucket of rest) {
        const value = weight(bucket);
        row(bucket.name, at - value, at, bucket.name, value, `${bucket.name}: ${duration(bucket.seconds)}, ${hours(value)} ${unit}\nevidence: ${bucket.evidence}` + bucket.parts.map((part) => `\n  ${part.name} ${duration(part.seconds)}`).join(""));
        at -= value;
      }
      for (const bucket of productive) row(bucket.name, 0, weight(bucket), bucket.name, weight(bucket), `${bucket.name}: ${duration(bucket.seconds)}, ${hours(weight(bucket))} ${unit}\nevidence: ${bucket.evidence}`);
      picture.setAttribute("viewBox", `0 0 ${width} ${y + 4}`);
      picture.replaceChildren(...parts);
    }
    holder.append(picture);
    new ResizeObserver(() => paint()).observe(holder);
    paint();
    return holder;
  },
};
