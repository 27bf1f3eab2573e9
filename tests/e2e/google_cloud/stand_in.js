// What the stand-ins for Google's services have in common: messages checked with the services' own protos, tokens, and the metadata
// server.
"use strict";
const crypto = require("crypto");
const path = require("path");
const modules = path.resolve(process.argv[2]);
const protobuf = require(path.join(modules, "protobufjs"));
const protos = (file) => protobuf.Root.fromJSON(require(path.join(modules, file)));

class Refusal extends Error {
  constructor(code, status, message, details = []) {
    super(message);
    Object.assign(this, {code, status, details});
  }
}
const bad = (message) => new Refusal(400, "INVALID_ARGUMENT", message);

// ---- The JSON of a message

const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z$/;
const nanoseconds = (text) => {
  const parts = text.match(TIME);
  if (!parts || Number.isNaN(Date.parse(parts[1] + "Z"))) throw bad(`not a time: ${text}`);
  return BigInt(Date.parse(parts[1] + "Z")) * 1000000n + BigInt((parts[2] || "").padEnd(9, "0"));
};
const timeText = (ns) => {
  const fraction = (ns % 10n ** 9n).toString().padStart(9, "0").replace(/0+$/, "");
  const whole = new Date(Number(ns / 10n ** 9n) * 1000).toISOString().slice(0, 19);
  return whole + (fraction ? "." + fraction : "") + "Z";
};
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

function checkScalar(type, value, where) {
  const integer = (value) => Number.isInteger(value) && Math.abs(value) < 2 ** 31;
  const good = type === "string" ? typeof value === "string" :
    type === "bool" ? typeof value === "boolean" :
    type === "int32" ? integer(value) :
    type === "int64" ? typeof value === "string" && /^-?\d+$/.test(value) :
    type === "double" || type === "float" ? typeof value === "number" : false;
  if (!good) throw bad(`${where}: not of type ${type}: ${JSON.stringify(value)}`);
}

function checkValue(field, value, where) {
  const type = field.resolvedType;
  if (type === null) return checkScalar(field.type, value, where);
  if (type instanceof protobuf.Enum) {
    if (!(value in type.values)) throw bad(`${where}: no value ${JSON.stringify(value)} in ${type.name}`);
    return;
  }
  if (type.fullName === ".google.protobuf.Timestamp") return void nanoseconds(value);
  if (type.fullName === ".google.protobuf.Struct") {
    if (!isObject(value)) throw bad(`${where}: not an object`);
    return;
  }
  checkMessage(type, value, where);
}

function checkMessage(type, json, where) {
  if (!isObject(json)) throw bad(`${where}: not an object`);
  for (const [name, value] of Object.entries(json)) {
    const field = type.fields[name];
    const here = where + "." + name;
    if (!field) throw bad(`${here}: ${type.fullName} has no such field`);
    field.resolve();
    if (field.map) {
      if (!isObject(value)) throw bad(`${here}: not an object`);
      for (const [key, one] of Object.entries(value)) checkValue(field, one, here + "." + key);
    } else if (field.repeated) {
      if (!Array.isArray(value)) throw bad(`${here}: not an array`);
      value.forEach((one, index) => checkValue(field, one, `${here}[${index}]`));
    } else {
      checkValue(field, value, here);
    }
  }
}

// ---- Who asks

// What both know of tokens: `config` has tokenValidS (what the metadata server says), tokenLivesMs (what the service thinks), scopes,
// hasAccount, publicKey, email, keyId, and answers of the metadata server by path. `needs`: what a method needs.
function credentials(config, state, audience, needs) {
  const tokens = new Map();  // the token -> until when it is valid

  function checkSigned(token) {
    const [header, claims, signature] = token.split(".");
    const text = (part) => JSON.parse(Buffer.from(part, "base64url").toString());
    const unauthenticated = (what) => new Refusal(401, "UNAUTHENTICATED", `the token is invalid: ${what}`);
    if (!config.publicKey || !signature) throw unauthenticated("unknown");
    const good = crypto.verify("sha256", Buffer.from(header + "." + claims), config.publicKey, Buffer.from(signature, "base64url"));
    if (!good) throw unauthenticated("signature");
    const {alg, typ, kid} = text(header);
    const {iss, sub, aud, iat, exp, ...more} = text(claims);
    const now = Date.now() / 1000;
    if (alg !== "RS256" || typ !== "JWT" || kid !== config.keyId) throw unauthenticated("header");
    if (iss !== config.email || sub !== config.email || aud !== audience) throw unauthenticated("claims");
    if (exp - iat > 3600 || iat > now + 60 || exp < now || Object.keys(more).length) throw unauthenticated("times, or other claims");
  }

  function checkCaller(request, method) {
    const [kind, token] = (request.headers.authorization || "").split(" ");
    if (kind !== "Bearer" || !token) throw new Refusal(401, "UNAUTHENTICATED", "Request is missing required authentication credential.");
    if (token.includes(".")) {
      checkSigned(token);
    } else if (!(tokens.get(token) > Date.now())) {
      state.tokenExpired += 1;
      throw new Refusal(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.");
    }
    const {scope, permission, allowed} = needs(method);
    const info = (reason) => [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", reason, domain: "googleapis.com"}];
    const has = (name) => config.scopes.includes("https://www.googleapis.com/auth/" + name);
    if (!token.includes(".") && !has(scope) && !has("cloud-platform")) {
      throw new Refusal(403, "PERMISSION_DENIED", "Request had insufficient authentication scopes.", info("ACCESS_TOKEN_SCOPE_INSUFFICIENT"));
    }
    if (!allowed) {
      throw new Refusal(403, "PERMISSION_DENIED", `Permission '${permission}' denied on resource`, info("IAM_PERMISSION_DENIED"));
    }
  }

  function metadata(request, response) {
    const what = request.url.replace("/computeMetadata/v1/", "").replace("instance/service-accounts/default/", "");
    if (request.headers["metadata-flavor"] !== "Google") state.problems.push("metadata without Metadata-Flavor");
    const send = (code, text) => response.writeHead(code, {"Metadata-Flavor": "Google"}).end(text);
    if (what.includes("/") && config[what] !== undefined) return send(200, config[what]);
    if (!config.hasAccount) return send(404, "");
    if (what === "scopes") return send(200, config.scopes.join("\n") + "\n");
    if (what !== "token") return send(404, "");
    state.calls.token += 1;
    const token = "ya29-" + crypto.randomBytes(40).toString("base64url");
    tokens.set(token, Date.now() + config.tokenLivesMs);
    send(200, JSON.stringify({access_token: token, expires_in: config.tokenValidS, token_type: "Bearer"}));
  }
  return {checkCaller, metadata};
}

module.exports = {protos, Refusal, bad, nanoseconds, timeText, isObject, checkMessage, credentials};
