/** Faults of extensions in the client, each with the test that detects it. */
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
    name: "a client declares extensions of a session in the form of 2026-07-28",
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
    name: "any result type is accepted as the result of an extension's method",
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
    name: "notifications wait for their handler without a bound",
    file: `${src}/features/ExtensionNotifications.ts`,
    from: "const queue = yield* Queue.sliding<JsonRpc.Notification>(capacity)",
    to: "const queue = yield* Queue.unbounded<JsonRpc.Notification>()",
    test: `${test}/Notifications.test.ts`
  },
  {
    name: "a notification of the client does not wait for room",
    file: `${src}/connection/prepare.ts`,
    from: "Effect.map(Effect.raceFirst(ended, peer.sink.ready), () => peer.notify(method, params))",
    to: "Effect.andThen(Effect.sync(() => peer.notify(method, params)), Effect.raceFirst(ended, Effect.void))",
    test: `${test}/Notifications.test.ts`
  }
]
