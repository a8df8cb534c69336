/** Small faults in the HTTP endpoints, their sessions and their stores, each with the test that detects it. */
import type { Fault } from "@effect-mcp/spec/Fault"

const store = "packages/server/src/session/EventStore.ts"
const arriving = "packages/server/src/internal/ArrivingBodies.ts"
const inFlight = "packages/server/src/http/request/InFlightRequests.ts"
const fairness = "packages/server/test/http/request/fairness.test.ts"
const sink = "packages/server/src/http/session/SessionSink.ts"
const sessions = "packages/server/src/http/session/HttpSessions.ts"
const sessionModel = "packages/server/test/http/session/HttpSession.model.test.ts"
const storeModel = "packages/server/test/session/EventStore.model.test.ts"

export const httpFaults: ReadonlyArray<Fault> = [
  {
    name: "Events that were dropped from a stream count for ever",
    file: store,
    from: "    return freed\n",
    to: "    return 0\n",
    test: storeModel
  },
  {
    name: "The smallest session makes room for the others",
    file: store,
    from: "for (let size = sized.length - 1; size >= 0; size--)",
    to: "for (let size = 0; size < sized.length; size++)",
    test: storeModel
  },
  {
    name: "A stream that is forgotten still takes room",
    file: store,
    from: "this.resize(session, -bytes)",
    to: "this.resize(session, 0)",
    test: storeModel
  },
  {
    name: "A reply that was cut off counts for its caller for ever",
    file: "packages/server/src/mrtr/ReplayGuard.ts",
    from: "shares.add(caller, -1)",
    to: "",
    test: "packages/server/test/mrtr/StateSeal.test.ts"
  },
  {
    name: "Bodies that arrive hold bytes without a bound",
    file: arriving,
    from: "    while (this.cutExcess(body.caller));\n",
    to: "",
    test: fairness
  },
  {
    name: "Requests that run hold bytes without a bound",
    file: inFlight,
    from: "excess(this.bytes, caller, 0,",
    to: "excess(this.bytes, caller, -Infinity,",
    test: fairness
  },
  {
    name: "Anonymous callers of one address open sessions without a limit",
    file: "packages/server/src/http/session/SessionTable.ts",
    from: "perCaller: options.perAddress ?? 5000",
    to: "perCaller: Infinity",
    test: "packages/server/test/http/session/SessionTable.test.ts"
  },
  {
    name: "Another principal may use a session",
    file: sessions,
    from: " || found.owner !== ownerOf(http)",
    to: "",
    test: sessionModel
  },
  {
    name: "A question of a request is also on the stream of the session",
    file: sink,
    from: 'if (response !== undefined) response.send(one, "data")',
    to: 'if (response !== undefined) {\n        response.send(one, "data")\n        if (JsonRpc.isRequest(one)) this.standaloneStream().write(JsonRpc.encode(one))\n      }',
    test: "packages/server/test/http/session/delivery.test.ts",
    ids: ["http.streams.no-broadcast"]
  },
  {
    name: "The headers of a request are not compared with it",
    file: "packages/server/src/dispatch/StatelessEra.ts",
    from: "const standard = Headers.mismatch(headers, request, this.ownNameParam)",
    to: "const standard = undefined",
    test: "packages/server/test/http/statuses.test.ts",
    ids: ["http.headers.validated"]
  }
]
