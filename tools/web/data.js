"use strict";
// Where the page's data come from: the document itself where `sgoodput show --html` put one run into it, else the daemon.

const data = {
  embedded() {
    const node = document.getElementById("run");
    return node ? JSON.parse(node.textContent) : null;
  },

  async ask(path, parameters = {}) {
    const query = new URLSearchParams();
    for (const [key, value] of Object.entries(parameters)) if (value !== undefined && value !== null && value !== "") query.set(key, value);
    let answer;
    try {
      answer = await fetch(path + (query.size ? "?" + query : ""), {headers: {Accept: "application/json"}, cache: "no-store"});
    } catch (error) {
      throw new Error("goodputd does not answer; is it running, and is this the address it listens on?");
    }
    const text = await answer.text();
    let body = null;
    try { body = JSON.parse(text); } catch (error) { /* said below */ }
    if (answer.status === 404) return null;
    if (!answer.ok) throw new Error(body && body.error ? body.error : `goodputd answered ${answer.status}: ${text.slice(0, 300)}`);
    if (body === null) throw new Error("goodputd answered with something else than JSON");
    return body;
  },
};
