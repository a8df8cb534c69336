/** Faults of extensions in the client, and the test that notices each. */
import type { Fault } from "@effect-mcp/spec/Fault"

const src = "packages/client/src"
const test = "packages/client/test/extension"

export const extension: ReadonlyArray<Fault> = [
  {
    name: "a client declares extensions of 2026-07-28 among experimental features",
    file: `${src}/extension/InUse.ts`,
    from: ".map(({ extension, settings }) => Extension.declarationOf(extension, revision, settings))",
    to: ".map(({ extension, settings }) => ({ experimental: { [extension.id]: settings } }))",
    test: `${test}/Requests.test.ts`,
    ids: ["versioning.extension.advertised"]
  },
  {
    name: "a client declares extensions of a session in the words of 2026-07-28",
    file: `${src}/extension/InUse.ts`,
    from: ".map(({ extension, settings }) => Extension.declarationOf(extension, revision, settings))",
    to: ".map(({ extension, settings }) => ({ extensions: { [extension.id]: settings } }))",
    test: `${test}/Requests.test.ts`,
    ids: ["lifecycle.capability.experimental"]
  },
  {
    name: "a client leaves out extensions without settings",
    file: `${src}/extension/InUse.ts`,
    from: ".map(({ extension, settings }) => Extension.declarationOf(extension, revision, settings))",
    to: ".filter(({ settings }) => Object.keys(settings).length > 0).map(({ extension, settings }) => Extension.declarationOf(extension, revision, settings))",
    test: `${test}/Requests.test.ts`,
    ids: ["versioning.extension.no-settings"]
  },
  {
    name: "a result of any type is taken for that of a method of an extension",
    file: `${src}/features/Extensions.ts`,
    from: 'if (stateless && type !== "complete") {',
    to: 'if (stateless && type === "input_required") {',
    test: `${test}/Requests.test.ts`,
    ids: ["json-rpc.result.type-unknown"]
  },
  {
    name: "a result of an extension needs its type",
    file: `${src}/features/Extensions.ts`,
    from: "const type = ResultType.of(result)",
    to: 'const type = isJsonObject(result) ? result["resultType"] : undefined',
    test: `${test}/Requests.test.ts`,
    ids: ["json-rpc.result.type-absent"]
  },
  {
    name: "a kind of result is followed that the server did not declare",
    file: `${src}/extension/InUse.ts`,
    from: "this.parts = parts.filter(({ extension }) => this.settings(extension) !== undefined)",
    to: "this.parts = parts",
    test: `${test}/Results.test.ts`,
    ids: ["json-rpc.result.type-set"]
  },
  {
    name: "a request of an extension is sent to a server without it",
    file: `${src}/extension/InUse.ts`,
    from: "if (Extension.settingsIn(extension, revision, serverCapabilities) === undefined) {",
    to: "if (Extension.settingsIn(extension, revision, {}) !== undefined) {",
    test: `${test}/Requests.test.ts`,
    ids: ["versioning.extension.unsupported"]
  },
  {
    name: "a client sends requests of extensions that it did not declare",
    file: `${src}/extension/InUse.ts`,
    from: 'if (undeclared === "refused" && !declares(id)) {',
    to: 'if (undeclared === "refused" && declares("")) {',
    test: `${test}/Requests.test.ts`
  },
  {
    name: "a failure of any code is taken for the declared one",
    file: `${src}/features/Extensions.ts`,
    from: "failure === undefined || code !== failureCode || !isJsonObject(data)",
    to: "failure === undefined || code === 0 || !isJsonObject(data)",
    test: `${test}/Requests.test.ts`
  },
  {
    name: "a request of an extension is never sent again",
    file: `${src}/reconnect/ReconnectingConnection.ts`,
    from: "const { readOnly: safe, reconnectTimeout } = sendOptions",
    to: "const { reconnectTimeout } = sendOptions\n      const safe = false",
    test: `${test}/Requests.test.ts`
  },
  {
    name: "a request of an extension that may run for long asks for no progress",
    file: `${src}/features/Extensions.ts`,
    from: "const watched = longRunning === true &&",
    to: "const watched = longRunning === false &&",
    test: `${test}/Requests.test.ts`
  },
  {
    name: "a second extension takes the methods of the first",
    file: `${src}/extension/InUse.ts`,
    from: "if (owner !== undefined) {",
    to: 'if (owner === "") {',
    test: `${test}/Requests.test.ts`
  },
  {
    name: "the failure of a question ends the request that asks",
    file: `${src}/answering/ServerRequests.ts`,
    from: 'return era === "stateless" && isJsonObject(data)',
    to: 'return era === "stateful" && isJsonObject(data)',
    test: `${test}/Questions.test.ts`
  },
  {
    name: "questions of an extension hide those of the revision beside them",
    file: `${src}/connection/InputRounds.ts`,
    from: "[...own, ...Object.entries(inputRequests)],",
    to: "own.length > 0 ? own : Object.entries(inputRequests),",
    test: `${test}/Questions.test.ts`
  },
  {
    name: "notifications wait for their handler without a bound",
    file: `${src}/features/ExtensionNotifications.ts`,
    from: "const queue = yield* Queue.sliding<JsonRpc.Notification>(capacity)",
    to: "const queue = yield* Queue.unbounded<JsonRpc.Notification>()",
    test: `${test}/Notifications.test.ts`
  },
  {
    name: "many notifications of one method displace another",
    file: `${src}/features/ExtensionEntrance.ts`,
    from: "const hub = this.hubs.get(method) ?? new Hub<JsonObject>()",
    to: "const hub = this.hubs.values().next().value ?? new Hub<JsonObject>()",
    test: `${test}/Notifications.test.ts`
  },
  {
    name: "a handler that dies ends the handling of notifications",
    file: `${src}/features/ExtensionNotifications.ts`,
    from: "Effect.sync(() => dropped(`The handler of",
    to: "Cause.hasDies(cause) ? Effect.die(cause) : Effect.sync(() => dropped(`The handler of",
    test: `${test}/Notifications.test.ts`
  },
  {
    name: "a notification of the client does not wait for room",
    file: `${src}/connection/prepare.ts`,
    from: "Effect.map(Effect.raceFirst(ended, peer.sink.ready), () => peer.notify(method, params))",
    to: "Effect.andThen(Effect.sync(() => peer.notify(method, params)), Effect.raceFirst(ended, Effect.void))",
    test: `${test}/Notifications.test.ts`
  },
  {
    name: "what the server grants is not looked at",
    file: `${src}/features/ExtensionNotifications.ts`,
    from: "Object.hasOwn(granted, key) ? Effect.succeed(ended)",
    to: "Object.hasOwn(granted, key) || key !== '' ? Effect.succeed(ended)",
    test: `${test}/Listen.test.ts`
  },
  {
    name: "notifications of any subscription reach a subscription of an extension",
    file: `${src}/connection/Listening.ts`,
    from: "entry.told?.(notification)\n    return false",
    to: "for (const each of this.open.values()) each.told?.(notification)\n    return false",
    test: `${test}/Listen.test.ts`
  },
  {
    name: "an extension changes requests to servers that did not declare it",
    file: `${src}/extension/InUse.ts`,
    from: "return inUse?.isEmpty === false ? inUse : undefined",
    to: "const all = { ...agreed, serverCapabilities: JSON.parse(JSON.stringify({ ...agreed.serverCapabilities, extensions: Object.fromEntries(parts.map(({ extension }) => [extension.id, {}])) })) }\n  return parts.length === 0 ? inUse : new InUse(parts, all)",
    test: `${test}/Results.test.ts`
  },
  {
    name: "a job is followed within the time of its request",
    file: `${src}/reconnect/ReconnectingConnection.ts`,
    from: "? Effect.flatMap(follow(result), (final) => latest().decode(method, final))",
    to: '? Effect.flatMap(Effect.timeoutOrElse(follow(result), { duration: "1 second", orElse: () => Effect.succeed(undefined) }), (final) => latest().decode(method, final))',
    test: `${test}/Results.test.ts`
  },
  {
    name: "a handler that is interrupted ends those of later notifications",
    file: `${src}/features/ExtensionNotifications.ts`,
    from: "Effect.sync(() => dropped(`The handler of",
    to: "Cause.hasInterruptsOnly(cause) ? Effect.interrupt : Effect.sync(() => dropped(`The handler of",
    test: `${test}/Notifications.test.ts`
  },
  {
    name: "the name of a request of an extension is in no header",
    file: `${src}/features/Extensions.ts`,
    from: "const name = headers && nameParam !== undefined",
    to: "const name = !headers && nameParam !== undefined",
    test: "packages/client/test/transport/http/ExtensionHeaders.test.ts"
  }
]
