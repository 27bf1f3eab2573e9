"use strict";
// The page's data: embedded in the document if `sgoodput show --html` or `page` wrote it, otherwise requested from goodputd.

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
      throw new Error("goodputd does not answer; check that it runs and listens on this address");
    }
    const text = await answer.text();
    let body = null;
    try { body = JSON.parse(text); } catch (error) { /* reported below */ }
    if (answer.status === 404) return null;
    if (!answer.ok) throw new Error(body && body.error ? body.error : `goodputd answered ${answer.status}: ${text.slice(0, 300)}`);
    if (body === null) throw new Error("the answer from goodputd is not JSON");
    return body;
  },
};
