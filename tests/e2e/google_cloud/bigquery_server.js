// A stand-in for BigQuery and for the metadata server, on the loopback interface: node bigquery_server.js NODE_MODULES
//
// Prints its port. Its tables are in DuckDB, for which statements of GoogleSQL are translated: types, quotes, partitions and options. GET
// /state tells what it was asked; POST /control changes how it behaves; POST /ask answers SQL. Jobs run once for an id. The bodies of
// jobs are kept, for the test to check them with the service's own types (@google-cloud/bigquery).
"use strict";
const fs = require("fs");
const http = require("http");
const os = require("os");
const path = require("path");
const {Refusal, bad, credentials} = require("./stand_in.js");
const {DuckDBInstance} = require(path.join(path.resolve(process.argv[2]), "@duckdb/node-api"));

const MOST_UPLOADED = 10 << 20, PROJECT = "lab-1", DATASET = "goodput";
const TYPES = {INT64: "BIGINT", STRING: "VARCHAR", BOOL: "BOOLEAN", NUMERIC: "DECIMAL(38,9)", DATE: "DATE"};

const config = {
  faults: [],             // for the next calls: {code, reason} or {cut: "before" | "after"}
  tokenValidS: 3600, tokenLivesMs: 3600000, scopes: ["https://www.googleapis.com/auth/cloud-platform"], hasAccount: true,
  publicKey: null, email: null, keyId: null,
  role: true, location: "us-east5", hasDataset: true,
  looks: 1,               // how often a job is still running when it is looked at
  conflicts: 0,           // so many transactions fail, since others change the table
  failingJob: null,       // a job whose statements contain this fails
};
const state = {problems: [], calls: {token: 0, insert: 0, get: 0, dataset: 0}, jobs: [], ran: [], known: 0, tokenExpired: 0, uploads: []};
const jobs = new Map();
let database;

const {checkCaller, metadata} = credentials(config, state, "https://bigquery.googleapis.com/", () =>
  ({scope: "bigquery", permission: "bigquery.jobs.create", allowed: config.role}));

// ---- Statements

function translate(statement) {
  if (/^CREATE TABLE IF NOT EXISTS/.test(statement) && !/\) PARTITION BY DATE_TRUNC\(month, MONTH\) CLUSTER BY cluster, account$/.test(statement)) {
    throw new Error(`no partitions: ${statement}`);
  }
  if (/^CREATE TABLE \w+_load_/.test(statement) && !/OPTIONS \(expiration_timestamp = /.test(statement)) throw new Error("a table that stays for ever");
  const sql = statement.replace(/\) PARTITION BY .*$/, ")").replace(/\) OPTIONS .*$/, ")").replace(/`/g, '"')
    .replace(/" (INT64|STRING|BOOL|NUMERIC|DATE)\b/g, (_, type) => `" ${TYPES[type]}`);
  if (/\b(INT64|STRING|BOOL|NUMERIC)\b/.test(sql)) throw new Error(`a type is left: ${sql}`);
  const alter = sql.match(/^ALTER TABLE (\w+) (.*)$/s);
  return alter ? alter[2].split(/, (?=ADD COLUMN)/).map((column) => `ALTER TABLE ${alter[1]} ${column}`) : [sql];
}

async function runScript(script) {
  const statements = script.split(";").map((one) => one.trim()).filter(Boolean);
  if (config.conflicts && statements.some((one) => one.startsWith("BEGIN"))) {
    config.conflicts -= 1;
    throw new Error("Transaction is aborted due to concurrent update against table lab-1:goodput.attempt_day. Transaction ID: 1");
  }
  if (config.failingJob && script.includes(config.failingJob)) throw new Error("this fails");
  let open = false;
  try {
    for (const statement of statements) {
      for (const sql of translate(statement)) {
        await database.run(sql);
        open = sql.startsWith("BEGIN") || (open && !sql.startsWith("COMMIT"));
      }
    }
  } finally {
    if (open) await database.run("ROLLBACK");  // as at the end of a script
  }
}

async function loadRows(load, data) {
  const {destinationTable: table, sourceFormat, createDisposition, writeDisposition, ...more} = load;
  if (Object.keys(more).length || sourceFormat !== "NEWLINE_DELIMITED_JSON" || writeDisposition !== "WRITE_APPEND" || createDisposition !== "CREATE_NEVER") {
    throw new Error("not expected: " + JSON.stringify(load));
  }
  if (table.projectId !== PROJECT || table.datasetId !== DATASET) throw new Error("another dataset");
  const columns = (await database.runAndReadAll(`SELECT column_name FROM duckdb_columns() WHERE table_name = '${table.tableId}'`)).getRows().flat();
  if (!columns.length) throw new Error(`Not found: Table lab-1:goodput.${table.tableId}`);
  for (const line of data.toString().split("\n").filter((one) => one.trim())) {
    const unknown = Object.keys(JSON.parse(line)).filter((name) => !columns.includes(name));
    if (unknown.length) throw new Error(`No such field: ${unknown}`);
  }
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "goodput-bigquery-")), "rows.json");
  fs.writeFileSync(file, data);
  await database.run(`COPY ${table.tableId} FROM '${file}' (FORMAT json)`);
  fs.rmSync(path.dirname(file), {recursive: true});
}

// ---- Calls

function answerOf(job) {
  if (job.looks > 0) {
    job.looks -= 1;
    return {...job.resource, status: {state: "RUNNING"}};
  }
  return {...job.resource, status: {state: "DONE", ...(job.error && {errorResult: {reason: "invalidQuery", message: job.error}})}};
}

async function insert(resource, data) {
  state.jobs.push(resource);
  const {projectId, jobId, location} = resource.jobReference || {};
  if (projectId !== PROJECT || !/^[A-Za-z0-9_-]{1,1024}$/.test(jobId || "")) throw bad("jobReference");
  if (location !== config.location) throw new Refusal(404, "NOT_FOUND", `Not found: Dataset in location ${location}`);
  if (jobs.has(jobId)) {
    state.known += 1;
    throw new Refusal(409, "ALREADY_EXISTS", `Already Exists: Job ${jobId}`);
  }
  const job = {resource: {kind: "bigquery#job", ...resource}, looks: config.looks, error: null};
  jobs.set(jobId, job);
  const {query, load} = resource.configuration;
  state.ran.push(load ? "load" : query.query.split(/[ ;]/, 2).join(" "));
  try {
    if (load) {
      await loadRows(load, data);
    } else {
      if (query.useLegacySql !== false) throw new Error("not GoogleSQL");
      if (query.defaultDataset.projectId !== PROJECT || query.defaultDataset.datasetId !== DATASET) throw new Error("another dataset");
      await runScript(query.query);
    }
  } catch (error) {
    job.error = error.message;
  }
  return answerOf(job);
}

// The two parts of a multipart/related body.
function partsOf(request, body) {
  const [, boundary] = (request.headers["content-type"] || "").match(/^multipart\/related; boundary=([\w-]+)$/) || [];
  if (!boundary) throw bad("Content-Type");
  if (body.length > MOST_UPLOADED) throw bad(`${body.length} bytes`);
  state.uploads.push(body.length);
  const pieces = body.toString("latin1").split(`--${boundary}`);
  if (pieces.length !== 4 || pieces[0] !== "" || pieces[3].trim() !== "--") throw bad("parts");
  const contents = pieces.slice(1, 3).map((piece) => piece.slice(piece.indexOf("\r\n\r\n") + 4, -2));
  if (!/Content-Type: application\/json/.test(pieces[1])) throw bad("the first part is JSON");
  return [JSON.parse(Buffer.from(contents[0], "latin1").toString()), Buffer.from(contents[1], "latin1")];
}

async function answerPath(request, body) {
  const url = new URL(request.url, "http://localhost");
  const at = `/bigquery/v2/projects/${PROJECT}`;
  if (request.method === "GET" && url.pathname === `${at}/datasets/${DATASET}` && config.hasDataset) {
    state.calls.dataset += 1;
    return {kind: "bigquery#dataset", location: config.location};
  }
  if (request.method === "GET" && url.pathname.startsWith(`${at}/jobs/`)) {
    state.calls.get += 1;
    const job = jobs.get(url.pathname.slice(`${at}/jobs/`.length));
    if (!job || url.searchParams.get("location") !== config.location) throw new Refusal(404, "NOT_FOUND", "Not found: Job");
    return answerOf(job);
  }
  if (request.method === "POST" && url.pathname === `${at}/jobs`) {
    state.calls.insert += 1;
    if (!/^application\/json/.test(request.headers["content-type"] || "")) throw bad("Content-Type");
    return insert(JSON.parse(body.toString()), null);
  }
  if (request.method === "POST" && url.pathname === `/upload${at}/jobs` && url.search === "?uploadType=multipart") {
    state.calls.insert += 1;
    return insert(...partsOf(request, body));
  }
  throw new Refusal(404, "NOT_FOUND", `Not found: ${url.pathname}`);
}

async function answerCall(request, body, response) {
  const send = (code, json) => response.writeHead(code, {"Content-Type": "application/json; charset=UTF-8"}).end(JSON.stringify(json, null, 2));
  const fault = config.faults.shift() || {};
  if (fault.cut === "before") return void request.socket.destroy();
  try {
    checkCaller(request, "jobs");
    if (fault.code) throw Object.assign(new Refusal(fault.code, "ERROR", "try again"), {reason: fault.reason});
    const answer = await answerPath(request, body);
    if (fault.cut === "after") return void request.socket.destroy();
    send(200, answer);
  } catch (error) {
    if (fault.cut === "after") return void request.socket.destroy();
    if (!(error instanceof Refusal)) console.error(error);
    const {code = 400, status = "INVALID_ARGUMENT", message, details = [], reason = "invalid"} = error;
    if (code === 400) state.problems.push(message);
    send(code, {error: {code, message, errors: [{message, domain: "global", reason}], status, details}});
  }
}

const server = http.createServer((request, response) => {
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece)).on("end", async () => {
    const body = Buffer.concat(pieces);
    if (request.url === "/state") return response.end(JSON.stringify(state));
    if (request.url === "/control") {
      Object.assign(config, JSON.parse(body.toString()));
      return response.end("{}");
    }
    if (request.url === "/ask") {
      const rows = await database.runAndReadAll(body.toString()).catch((error) => ({getRowObjectsJson: () => error.message}));
      return response.end(JSON.stringify(rows.getRowObjectsJson()));
    }
    if (request.url.startsWith("/computeMetadata/")) return metadata(request, response);
    answerCall(request, body, response);
  });
});
DuckDBInstance.create(":memory:").then((instance) => instance.connect()).then((connection) => {
  database = connection;
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
});
process.stdin.on("end", () => process.exit(0)).resume();  // it ends with the test
