// A stand-in for Cloud Logging and for the metadata server, on the loopback interface: node logging_server.js NODE_MODULES
//
// Prints its port. It checks each request with the service's own protos (protos.json of @google-cloud/logging-api) and names what they
// do not know, and it has the limits that the service documents. GET /state tells what it has and what it was asked; POST /control
// changes how it behaves.
"use strict";
const crypto = require("crypto");
const http = require("http");
const {protos, Refusal, bad, nanoseconds, timeText, checkMessage, credentials} = require("./stand_in.js");
const root = protos("@google-cloud/logging-api/build/protos/protos.json");

const MOST_ENTRIES = 1000, MOST_BYTES = 10 * 1000 * 1000, MOST_ENTRY_BYTES = 256 * 1024, MOST_FILTER = 20000;
const DAY_NS = 86400n * 10n ** 9n;

const config = {
  faults: [],             // for the next calls: {method, code} or {method, cut: "before" | "after"}
  readsPerWindow: 60, windowMs: 60000,
  tokenValidS: 3600,      // what the metadata server says
  tokenLivesMs: 3600000,  // what the service thinks
  pageTokensLiveMs: 86400000,
  mostPage: 1000,
  emptyPages: false,      // every second page has no entries
  retentionDays: 30,
  refusedStep: null,      // this step_count is refused, with partialSuccess
  role: "all",            // or "none", or "read"
  scopes: ["https://www.googleapis.com/auth/cloud-platform"],
  hasAccount: true,
  publicKey: null, email: null, keyId: null,
};
const entries = new Map();  // by log, time and insertId
const state = {problems: [], calls: {"entries:list": 0, "entries:write": 0, token: 0}, most: {entries: 0, bytes: 0}, dropped: 0,
               received: 0, dryRuns: 0, quotaExceeded: 0, tokenExpired: 0, filters: []};
const pageTokens = new Map();  // -> {until, question, found, begin, pages}
let reads = [];

// ---- Writing

function write(json) {
  if (json.entries.length > MOST_ENTRIES) throw bad(`${json.entries.length} entries`);
  state.most.entries = Math.max(state.most.entries, json.entries.length);
  const now = BigInt(Date.now()) * 1000000n;
  const errors = {};
  const taken = [];
  json.entries.forEach((entry, index) => {
    const logName = entry.logName || json.logName;
    if (!/^projects\/[a-z0-9.:-]+\/logs\/[A-Za-z0-9._%-]{1,511}$/.test(logName)) throw bad(`logName ${logName}`);
    if (!(entry.resource || json.resource)) throw bad("no resource");
    if (Buffer.byteLength(JSON.stringify(entry)) > MOST_ENTRY_BYTES) throw bad(`entry ${index} is too long`);
    if (entry.insertId !== undefined && entry.insertId.length > 512) throw bad("insertId");
    if (config.refusedStep !== null && entry.jsonPayload.step_count === config.refusedStep) {
      errors[index] = {code: 3, message: "a step that is not liked"};
    } else {
      taken.push({...entry, logName, resource: entry.resource || json.resource, labels: {...json.labels, ...entry.labels},
                  receiveTimestamp: timeText(now), ns: nanoseconds(entry.timestamp)});
    }
  });
  const refused = Object.keys(errors).length;
  const partial = [{"@type": "type.googleapis.com/google.logging.v2.WriteLogEntriesPartialErrors", logEntryErrors: errors}];
  if (refused && !json.partialSuccess) throw bad("entries are refused");
  if (json.dryRun) {
    state.dryRuns += 1;
    return {};
  }
  for (const entry of taken) {
    state.received += 1;
    if (entry.ns < now - BigInt(config.retentionDays) * DAY_NS || entry.ns > now + DAY_NS) {
      state.dropped += 1;  // accepted, but not there
      continue;
    }
    entries.set([entry.logName, entry.ns, entry.insertId || crypto.randomUUID()].join("\n"), entry);
  }
  if (refused) throw new Refusal(400, "INVALID_ARGUMENT", "a step that is not liked", partial);
  return {};
}

// ---- Reading

// What the filter language says, of which only Google's own filters are known here.
function parseFilter(text) {
  if (text.length > MOST_FILTER) throw bad("the filter is too long");
  const quoted = /"(?:[^"\\]|\\.)*"/.source;
  const patterns = [
    [`logName ?= ?(${quoted})`, (log) => (entry) => entry.logName === log],
    ["severity ?= ?INFO", () => (entry) => entry.severity === "INFO"],
    [`jsonPayload\\.job_name ?= ?(${quoted})`, (name) => (entry) => entry.jsonPayload.job_name === name],
    [`timestamp ?<= ?(${quoted})`, (at) => (entry) => entry.ns <= nanoseconds(at)],
    [`timestamp ?> ?(${quoted})`, (at) => (entry) => entry.ns > nanoseconds(at)],
    [`\\(timestamp > (${quoted}) OR \\(timestamp = (${quoted}) AND insertId > (${quoted})\\)\\)`, (at, same, id) => {
      if (at !== same) throw bad("two times");
      return (entry) => entry.ns > nanoseconds(at) || (entry.ns === nanoseconds(at) && entry.insertId > id);
    }],
  ];
  const conditions = [];
  let rest = text;
  for (;;) {
    const match = patterns.map(([pattern, make]) => [rest.match(new RegExp("^" + pattern)), make]).find(([found]) => found);
    if (!match) throw bad(`the filter is not understood: ${rest}`);
    const [found, make] = match;
    conditions.push(make(...found.slice(1).map((one) => JSON.parse(one))));
    rest = rest.slice(found[0].length);
    if (!rest) return (entry) => conditions.every((condition) => condition(entry));
    if (!rest.startsWith(" AND ")) throw bad(`the filter is not understood: ${rest}`);
    rest = rest.slice(5);
  }
}

function list(json) {
  const now = Date.now();
  reads = reads.filter((at) => at > now - config.windowMs);
  if (reads.length >= config.readsPerWindow) {
    state.quotaExceeded += 1;
    throw new Refusal(429, "RESOURCE_EXHAUSTED", "Quota exceeded for quota metric 'Read requests'");
  }
  reads.push(now);
  if (!json.resourceNames?.length) throw bad("no resourceNames");
  if (json.orderBy !== "timestamp asc") throw bad(`orderBy ${json.orderBy}`);
  state.filters.push(json.filter);
  const fits = parseFilter(json.filter);
  const question = JSON.stringify([json.resourceNames, json.filter, json.pageSize]);
  let begin = 0, pages = 0, found = null;
  if (json.pageToken !== undefined) {
    const token = pageTokens.get(json.pageToken);
    if (!token || token.until < now || token.question !== question) throw bad("page_token is invalid or expired");
    ({begin, pages, found} = token);
  }
  const order = (a, b) => a.ns < b.ns ? -1 : a.ns > b.ns ? 1 : a.insertId < b.insertId ? -1 : 1;
  found ??= [...entries.values()].filter(fits).sort(order);
  const size = config.emptyPages && pages % 2 === 0 ? 0 : Math.min(json.pageSize || 50, config.mostPage, 1000);
  const end = begin + size;
  const answer = {};
  if (size > 0 && found.length > begin) {
    answer.entries = found.slice(begin, end).map(({ns, ...entry}) => ({...entry, timestamp: timeText(ns)}));
  }
  if (end < found.length) {
    const token = crypto.randomBytes(24).toString("base64url");
    pageTokens.set(token, {until: now + config.pageTokensLiveMs, question, found, begin: end, pages: pages + 1});
    answer.nextPageToken = token;
  }
  return answer;
}

const {checkCaller, metadata} = credentials(config, state, "https://logging.googleapis.com/", (method) => {
  const reading = method === "entries:list";
  return {scope: reading ? "logging.read" : "logging.write", permission: `logging.logEntries.${reading ? "list" : "create"}`,
          allowed: config.role === "all" || (config.role === "read" && reading)};
});

function answerCall(request, body, response) {
  const method = request.url.replace("/v2/", "");
  const type = {"entries:list": "ListLogEntriesRequest", "entries:write": "WriteLogEntriesRequest"}[method];
  const send = (code, json) => response.writeHead(code, {"Content-Type": "application/json; charset=UTF-8"}).end(JSON.stringify(json, null, 2));
  let after = false;
  try {
    if (!type || request.method !== "POST") throw new Refusal(404, "NOT_FOUND", `no ${request.method} ${request.url}`);
    state.calls[method] += 1;
    const next = config.faults.findIndex((fault) => fault.method === method);
    const fault = next >= 0 ? config.faults.splice(next, 1)[0] : {};
    if (fault.cut === "before") return void request.socket.destroy();
    after = fault.cut === "after";
    if (fault.code) throw new Refusal(fault.code, "UNAVAILABLE", fault.message || "try again");
    if (!/^application\/json/.test(request.headers["content-type"] || "")) throw bad("Content-Type");
    if (request.headers.expect) throw bad("Expect: " + request.headers.expect);
    state.most.bytes = Math.max(state.most.bytes, body.length);
    if (body.length > MOST_BYTES) throw bad("longer than 10 MB");
    const json = JSON.parse(body.toString());
    checkMessage(root.lookupType("google.logging.v2." + type), json, type);
    checkCaller(request, method);
    const answer = method === "entries:list" ? list(json) : write(json);
    if (after) return void request.socket.destroy();
    send(200, answer);
  } catch (error) {
    if (after) return void request.socket.destroy();
    if (!(error instanceof Refusal)) console.error(error);
    const {code = 400, status = "INVALID_ARGUMENT", message, details = []} = error;
    if (code === 400 || code === 404) state.problems.push(message);
    send(code, {error: {code, message, status, details}});
  }
}

const server = http.createServer((request, response) => {
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece)).on("end", () => {
    const body = Buffer.concat(pieces);
    if (request.url === "/state") {
      const all = [...entries.values()].map(({ns, ...entry}) => ({...entry, ns: String(ns)}));
      return response.end(JSON.stringify({...state, entries: all}));
    }
    if (request.url === "/control") {
      const {entries: more = [], ...changes} = JSON.parse(body.toString());
      Object.assign(config, changes);
      for (const entry of more) {
        entries.set([entry.logName, nanoseconds(entry.timestamp), entry.insertId].join("\n"), {...entry, ns: nanoseconds(entry.timestamp)});
      }
      return response.end("{}");
    }
    if (request.url.startsWith("/computeMetadata/")) return metadata(request, response);
    answerCall(request, body, response);
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("end", () => process.exit(0)).resume();  // it ends with the test
