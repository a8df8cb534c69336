/** Small faults in the HTTP endpoints, their sessions and what they keep, each with the test that notices it. */
import type { Fault } from "@effect-mcp/spec/Fault"

const store = "packages/server/src/session/EventStore.ts"
const arriving = "packages/server/src/http/request/ArrivingBodies.ts"
const inFlight = "packages/server/src/http/request/InFlightRequests.ts"
const fairness = "packages/server/test/http/request/fairness.test.ts"
const session = "packages/server/src/http/session/HttpSession.ts"
const unread = "packages/server/src/http/session/UnreadMessages.ts"
const sessions = "packages/server/src/http/session/HttpSessions.ts"
const sessionEndpoint = "packages/server/src/http/session/SessionEndpoint.ts"
const sessionTest = "packages/server/test/http/session/HttpSession.test.ts"
const connectingTest = "packages/server/test/http/session/connecting.test.ts"
const incomingTest = "packages/server/test/http/session/incoming.test.ts"
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
    name: "A session may fill the whole event store",
    file: store,
    from: "if (session.bytes > maxBytesPerSession) this.dropWhile",
    to: "if (session.bytes > maxBytes) this.dropWhile",
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
    name: "A stream that is written to is still the one that was quiet longest",
    file: store,
    from: "    session.streams.delete(key.stream)\n",
    to: "",
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
    name: "One caller may fill the replay guard",
    file: "packages/server/src/mrtr/ReplayGuard.ts",
    from: "new Shares({ total: capacity, perCaller })",
    to: "new Shares({ total: capacity, perCaller: Infinity })",
    test: "packages/server/test/mrtr/tampering.test.ts"
  },
  {
    name: "A reply that was cut off counts for its caller for ever",
    file: "packages/server/src/mrtr/ReplayGuard.ts",
    from: "shares.add(caller, -1)",
    to: "",
    test: "packages/server/test/dispatch/StateSeal.test.ts"
  },
  {
    name: "One caller may have all requests in flight",
    file: inFlight,
    from: "this.requests = new Shares(boundsOf(inFlight, callerShare))",
    to: "this.requests = new Shares(boundsOf(inFlight, 1))",
    test: fairness
  },
  {
    name: "Requests whose client has gone count for no caller",
    file: inFlight,
    from: "    this.count(caller, change, bytes)\n  }\n\n  /** A body is cut",
    to: "  }\n\n  /** A body is cut",
    test: fairness
  },
  {
    name: "Bodies that are slow do not give way",
    file: arriving,
    from: "if (this.bodies.size >= this.most) this.cutOne(this.bodies.values(), () => 1)",
    to: "",
    test: fairness
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
    name: "A body that has come counts as one that is coming",
    file: arriving,
    from: "if (!this.bodies.delete(body)) return false",
    to: "if (!this.bodies.has(body)) return false",
    test: fairness
  },
  {
    name: "A slow body over HTTP with SSE does not give way",
    file: "packages/server/src/http/legacy/SseEndpoint.ts",
    from: "      slow.cut()\n",
    to: "",
    test: "packages/server/test/http/legacy/statuses.test.ts"
  },
  {
    name: "A POST that settles late ends a newer one with the same id",
    file: session,
    from: "if (this.responses?.get(id) !== response) return\n",
    to: "",
    test: sessionTest
  },
  {
    name: "Ended streams of a session are kept without a bound",
    file: "packages/server/src/http/session/KeptStreams.ts",
    from: " && this.retired.length <= maxRetired",
    to: "",
    test: sessionTest
  },
  {
    name: "The event store is not told of a stream that is forgotten",
    file: "packages/server/src/http/session/KeptStreams.ts",
    from: "      this.log?.forget(first.stream.name)\n",
    to: "",
    test: sessionTest
  },
  {
    name: "The end of a stream is no use of its session",
    file: session,
    from: "    this.connections--\n    this.touch()\n",
    to: "    this.connections--\n",
    test: sessionModel
  },
  {
    name: "A session that cannot be connected stays",
    file: session,
    from: "    else this.fiber?.interruptUnsafe()\n",
    to: "",
    test: sessionTest
  },
  {
    name: "A request is no use of its session",
    file: sessions,
    from: "    found.touch()\n",
    to: "",
    test: sessionModel
  },
  {
    name: "A session is opened while the endpoint ends",
    file: sessionEndpoint,
    from: "    if (!this.options.exchanges.admits) return Effect.succeed(shuttingDown(request.id))\n    if (!this",
    to: "    if (!this",
    test: sessionTest
  },
  {
    name: "A client that hangs up while its events are read stays attached",
    file: sessionEndpoint,
    from: "    exchange.left = stream.detaching(body)\n    return Effect.match",
    to: "    return Effect.match",
    test: sessionTest
  },
  {
    name: "The lifetime of a connection outlives it",
    file: sessionEndpoint,
    from: "stream.detaching(body, timer)",
    to: "stream.detaching(body)",
    test: sessionTest
  },
  {
    name: "A changed transport of a session over HTTP is not read",
    file: "packages/server/src/dispatch/SessionFactory.ts",
    from: "if (options.transport !== transport) {",
    to: "if (options.transport === undefined) {",
    test: "packages/server/test/http/session/incoming.test.ts"
  },
  {
    name: "A request that its session has not received is not answered when the session ends",
    file: session,
    from: "for (const id of this.responses?.keys() ?? [])",
    to: "for (const id of new Array<JsonRpc.Id>())",
    test: incomingTest
  },
  {
    name: "A request that its session has not received is never answered once its client has gone",
    file: session,
    from: "this.session?.peer.interrupt(reason, id) !== true",
    to: "this.session?.peer.interrupt(reason, id) === undefined",
    test: incomingTest
  },
  {
    name: "Messages that wait for a slow reader are kept without a bound",
    file: sessionEndpoint,
    from: "opened.waiting >= unread ?",
    to: "opened.waiting < 0 ?",
    test: incomingTest
  },
  {
    name: "Messages that a slow reader has pulled still count",
    file: unread,
    from: "      this.queued--\n",
    to: "",
    test: incomingTest
  },
  {
    name: "An error of a changed transport does not end its session",
    file: unread,
    from: "          resume(Effect.die(defect))\n",
    to: "",
    test: incomingTest
  },
  {
    name: "A session that has ended while it was connected takes a request that it cannot answer",
    file: sessions,
    from: " && table.get(session.id) === session",
    to: "",
    test: connectingTest
  },
  {
    name: "A client that hangs up while its session is connected leaves the session open",
    file: session,
    from: "() => Effect.sync(() => this.over())",
    to: "() => Effect.void",
    test: connectingTest
  },
  {
    name: "A session that is closed while it is connected waits for its connection",
    file: session,
    from: "      this.opening?.interruptUnsafe()\n",
    to: "",
    test: connectingTest
  },
  {
    name: "Anonymous callers of one address open sessions without a limit",
    file: "packages/server/src/http/session/SessionTable.ts",
    from: "perCaller: options.perAddress ?? 5000",
    to: "perCaller: Infinity",
    test: "packages/server/test/http/session/SessionTable.test.ts"
  },
  {
    name: "The client that comes back does not stop the interruption of its request",
    file: "packages/server/src/http/session/SessionResponse.ts",
    from: '    this.state = "Streaming"\n    this.stopTimer()\n',
    to: '    this.state = "Streaming"\n',
    test: sessionModel
  },
  {
    name: "Another principal may use a session",
    file: sessions,
    from: " || found.owner !== ownerOf(http)",
    to: "",
    test: sessionModel
  },
  {
    name: "A stream that was resumed gives events twice",
    file: "packages/server/src/http/session/ResumableStream.ts",
    from: "      this.drop(last)\n",
    to: "",
    test: sessionModel
  },
  {
    name: "A question of a request is also on the stream of the session",
    file: session,
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
