/** Small faults of this package, each with the test that fails with it: `npm run requirements -- --prove`. */
import type { Fault } from "@effect-mcp/spec/Fault"

const directory = "packages/nodes/test/process/directory/Directory.test.ts"
const directorySource = "packages/nodes/src/directory/Directory.ts"
const guests = "packages/nodes/test/guests.test.ts"
const held = "packages/server/test/http/session/HeldGuests.test.ts"
const death = "packages/nodes/test/death.test.ts"
const relay = "packages/nodes/test/relay/TcpRelay.test.ts"
const endpoints = "packages/nodes/test/endpoints.test.ts"
const laws = "packages/nodes/test/process/laws.test.ts"
const rates = "packages/nodes/test/process/rates.test.ts"
const sessions = "packages/nodes/test/process/sessions.test.ts"
const remote = "packages/server/src/http/session/RemoteSessions.ts"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "A connection to a node that says nothing is waited for",
    file: "packages/nodes/src/relay/AskingLine.ts",
    from: "if (!this.heard) return this.close()",
    to: "",
    test: relay
  },
  {
    name: "A connection to a node that works for long is ended",
    file: "packages/nodes/src/relay/AnsweringLine.ts",
    from: "if (kind === kinds.probe) return this.writer.write(kinds.probe, id)",
    to: "",
    test: relay
  },
  {
    name: "A node whose process is dead is waited for as one that does not answer",
    file: directorySource,
    from: "asked.filter(isDead)",
    to: "asked.filter(() => false)",
    test: directory
  },
  {
    name: "A node that is frozen counts as dead",
    file: "packages/nodes/src/relay/NodeId.ts",
    from: " && hasEnded(Number(pid))",
    to: "",
    test: directory
  },
  {
    name: "A node of a machine resumed from the same snapshot counts as dead",
    file: "packages/nodes/src/relay/NodeId.ts",
    from: " && isOwn(addressOf(node))",
    to: "",
    test: directory
  },
  {
    name: "The lease of a dead node may be had again",
    file: directorySource,
    from: "(node) => this.store.leave(node), { discard: true })",
    to: "() => Effect.void, { discard: true })",
    test: directory
  },
  {
    name: "A node is taken over while guests of it may run elsewhere",
    file: "packages/nodes/src/layerOf.ts",
    from: 'endsWithProcess: calls !== "anywhere"',
    to: "endsWithProcess: true",
    test: guests
  },
  {
    name: "Each request that waits for a node asks the directory twenty times a second",
    file: remote,
    from: "pause: Math.min(2 * pause, longestPause)",
    to: "pause",
    test: death
  },
  {
    name: "What a node says that is no response ends this process",
    file: "packages/nodes/src/relay/AskingLine.ts",
    from: "if (head === undefined) return this.close()",
    to: "if (head === undefined) throw new Error()",
    test: relay
  },
  {
    name: "A defect of a server ends the process of the node that answers another",
    file: "packages/nodes/src/relay/AnsweringLine.ts",
    from: "attempt(() => this.options.answer(decoded.node, decoded.request))",
    to: "this.options.answer(decoded.node, decoded.request)",
    test: relay
  },
  {
    name: "A request that follows a cut is sent on the connection that was cut",
    file: "packages/nodes/src/relay/AskingLine.ts",
    from: "    this.options.closed()\n    this.socket.destroy()",
    to: "    this.socket.destroy()",
    test: relay
  },
  {
    name: "A node of several answers no request of a session that another one holds",
    file: remote,
    from: "if (id === undefined || this.holds(id) ||",
    to: "if (id !== undefined || this.holds(id ?? '') ||",
    test: sessions
  },
  {
    name: "A stream that another node wrote ends without an answer when that node dies",
    file: "packages/server/src/http/session/RelayedStream.ts",
    from: "if (!this.answered.has(id))",
    to: "if (this.answered.has(id))",
    test: death
  },
  {
    name: "A session that another node opens again has lost its subscriptions",
    file: "packages/server/src/dispatch/Restore.ts",
    from: "subscriptions.filter((uri) => resources.has(uri, principal))",
    to: "subscriptions.filter((uri) => !resources.has(uri, principal))",
    test: death
  },
  {
    name: "A list that changed on one node is announced to the clients of that node alone",
    file: "packages/server/src/dispatch/ListChanges.ts",
    from: "if (isListKind(kind)) changed(kind)",
    to: "if (!isListKind(kind)) changed(kind)",
    test: sessions
  },
  {
    name: "A resource that was updated on one node is announced to the clients of that node alone",
    file: "packages/server/src/features/SharedUpdates.ts",
    from: "this.bus.publish(`updated ${this.server}`, name)",
    to: "this.bus.publish(`update ${this.server}`, name)",
    test: sessions
  },
  {
    name: "A session that another node opens again is given to any user",
    file: remote,
    from: "owner: ownerOf(http), takes }",
    to: "owner: ownerOf(http) && '', takes }",
    test: death
  },
  {
    name: "A session that was taken over for a request that may not use it cannot be reached at other nodes",
    file: "packages/nodes/src/directory/Directory.ts",
    from: "seeker?.takes !== false && isFor(recordIn(text), seeker)",
    to: "seeker?.takes !== false",
    test: endpoints
  },
  {
    name: "A session is opened a second time by another endpoint of its process",
    file: "packages/server/src/http/session/NodeSessions.ts",
    from: "if (endpoint.server === server && holds(id)) return endpoint",
    to: "if (endpoint.server !== server && holds(id)) return endpoint",
    test: endpoints
  },
  {
    name: "A node that has no room for a session takes it over",
    file: remote,
    from: "const takes = this.reopening.refusal(remote.http) === undefined",
    to: "const takes = this.reopening.refusal(http) !== this",
    test: endpoints
  },
  {
    name: "A client that leaves ends the opening of a session that others wait for",
    file: "packages/server/src/http/session/Reopening.ts",
    from: "fork(Effect.asVoid(done))",
    to: "return Effect.andThen(done, Deferred.await(opened))",
    test: endpoints
  },
  {
    name: "A caller has the database asked for any number of sessions that are unknown",
    file: "packages/server/src/http/session/UnknownSessions.ts",
    from: "(this.counts.get(caller) ?? 0) >= perCaller",
    to: "(this.counts.get(caller) ?? 0) < 0",
    test: endpoints
  },
  {
    name: "A stream that is resumed again by an old id lacks what this node has sent on it",
    file: "packages/server/src/http/session/resumeElsewhere.ts",
    from: "stream.has(0) ? stream.resume(body, -1)",
    to: "!stream.has(0) ? stream.resume(body, -1)",
    test: endpoints
  },
  {
    name: "A stream that is resumed by an old id lacks what a node between has sent",
    file: "packages/server/src/http/session/resumeElsewhere.ts",
    from: "{ length: epoch - first }",
    to: "{ length: 0 * (epoch - first) }",
    test: endpoints
  },
  {
    name: "The request of a long stream gets no answer when its node dies",
    file: "packages/server/src/http/session/ResumableStream.ts",
    from: "this.push(seq, `${this.comment}",
    to: "this.push(seq, `${seq === 0 ? this.comment : ''}",
    test: endpoints
  },
  {
    name: "A node forgets the events of a session that another one has taken over",
    file: "packages/server/src/http/session/HttpSession.ts",
    from: "(held ? Effect.ignoreCause",
    to: "(!held ? Effect.ignoreCause",
    test: endpoints
  },
  {
    name: "A node takes a session over whose node lives",
    file: "packages/nodes/src/postgres/stores.ts",
    from: 'AND NOT ${isAlive("node")}',
    to: 'AND (NOT ${isAlive("node")} OR true)',
    test: laws
  },
  {
    name: "A node of a Redis takes a session over whose node lives",
    file: "packages/nodes/src/redis/scripts.ts",
    from: "if node ~= ARGV[1] and redis.call('EXISTS', ARGV[2] .. node) == 0 then",
    to: "if node ~= ARGV[1] then",
    test: laws
  },
  {
    name: "A node that is watched while others are looked at is told gone",
    file: directorySource,
    from: "const over = asked.filter(",
    to: "const over = [...this.watched.keys()].filter(",
    test: directory
  },
  {
    name: "A node that cannot renew its lease serves its sessions without a look into the directory",
    file: directorySource,
    from: "return this.lease - Math.max(",
    to: "return 1000 * this.lease - Math.max(",
    test: death
  },
  {
    name: "A renewal that gets no answer is waited for without end",
    file: directorySource,
    from: "duration: this.lease / renewals,",
    to: "duration: this.lease * renewals,",
    test: directory
  },
  {
    name: "A session that ended in an outage comes back",
    file: directorySource,
    from: "const ids = [...this.ids, ...this.ended]",
    to: "const ids = [...this.ids]",
    test: directory
  },
  {
    name: "A node of a Postgres renews its lease in the pool of its program",
    file: "packages/nodes/src/postgres/layer.ts",
    from: "directoryOf(run, ofLease.run, times)",
    to: "directoryOf(run, run, times)",
    test: "packages/nodes/test/process/postgres/postgres.test.ts"
  },
  {
    name: "A Redis keeps the names of streams that are forgotten",
    file: "packages/nodes/src/redis/stores.ts",
    from: ".sRem(namesOf(session), stream)",
    to: ".sRem(namesOf(session), session)",
    test: "packages/nodes/test/process/redis/redis.test.ts"
  },
  {
    name: "A later use of a state whose reply was lost is told that the state is wrong",
    file: "packages/nodes/src/directory/SharedReplies.ts",
    from: 'if (use._tag === "Expired") return Effect.fail(spent)',
    to: 'if (use._tag === "Expired") return Effect.fail(expired)',
    test: "packages/nodes/test/directory/SharedReplies.test.ts"
  },
  {
    name: "A state that has expired by the clock of Postgres is used by a node whose clock is late",
    file: "packages/nodes/src/postgres/stores.ts",
    from: "WHERE ${until} > ${now}\n",
    to: "WHERE ${until} > to_timestamp(0)\n",
    test: laws
  },
  {
    name: "A state that has expired by the clock of a Redis is used by a node whose clock is late",
    file: "packages/nodes/src/redis/scripts.ts",
    from: "<= time[1] * 1000",
    to: "<= 0 * 1000",
    test: laws
  },
  {
    name: "A session that another node took over and closed is served where it was held before",
    file: remote,
    from: "      this.lost(id)\n",
    to: "      void id\n",
    test: death
  },
  {
    name: "A node that was suspended takes its lease for valid",
    file: directorySource,
    from: ", wall - renewed.wall)",
    to: ")",
    test: directory
  },
  {
    name: "The sizes of sessions that other nodes took over are kept for ever",
    file: "packages/nodes/src/events/Sizes.ts",
    from: "if (this.streams.size <= maxStreams) break",
    to: "if (this.streams.size > 0) break",
    test: "packages/nodes/test/events/Sizes.test.ts"
  },
  {
    name: "A wrong URL of a Redis is told with its password",
    file: "packages/nodes/src/redis/layer.ts",
    from: "yield* checked(url)",
    to: "yield* Effect.ignore(checked(url))",
    test: "packages/nodes/test/process/redis/redis.test.ts"
  },
  {
    name: "A relayed stream of a batch forgets an answer that came before the last event",
    file: "packages/server/src/http/session/RelayedStream.ts",
    from: "for (const id of answeredIn(events)) this.answered.add(id)",
    to: "this.last = events",
    test: "packages/server/test/http/session/relayed.test.ts"
  },
  {
    name: "A relay at a port that is in use is a defect",
    file: "packages/nodes/src/relay/TcpRelay.ts",
    from: "resume(Effect.fail(new NodesUnavailable({ message, cause })))",
    to: "resume(Effect.die(new NodesUnavailable({ message, cause })))",
    test: relay
  },
  {
    name: "A relay takes requests without the secret of the nodes",
    file: "packages/nodes/src/relay/handshake.ts",
    from: "timingSafeEqual(given, expected)",
    to: "timingSafeEqual(given, given)",
    test: relay
  },
  {
    name: "A node hears its own hints",
    file: "packages/nodes/src/events/Topics.ts",
    from: "if (from === this.self || topic",
    to: "if (topic",
    test: laws
  },
  {
    name: "A node answers a request to the name that it had before its lease ended",
    file: "packages/nodes/src/relay/TcpRelay.ts",
    from: "node === self ?",
    to: "node !== '' ?",
    test: relay
  },
  {
    name: "A node keeps what a slow reader does not read",
    file: "packages/nodes/src/relay/AnsweringLine.ts",
    from: "if (answering.room <= 0)",
    to: "if (answering.room <= -Infinity)",
    test: relay
  },
  {
    name: "A reader that reads is not told to the writer",
    file: "packages/nodes/src/relay/Inbox.ts",
    from: "if (this.untold >= window / 2)",
    to: "if (this.untold >= window * 2)",
    test: relay
  },
  {
    name: "A request to a node whose lease has ended waits on",
    file: directorySource,
    from: "this.relay.cut(node)",
    to: "this.relay.asked()",
    test: directory
  },
  {
    name: "Each request of a session at another node asks the directory",
    file: remote,
    from: "this.locations.found(id, node)",
    to: "this.locations.forget(id)",
    test: sessions
  },
  {
    name: "A node sends requests to where a session was before",
    file: remote,
    from: "Effect.sync(() => this.locations.forget(id))",
    to: "Effect.void",
    test: death
  },
  {
    name: "A request of 2026-07-28 that names a session is sent to another node",
    file: "packages/server/src/http/Endpoint.ts",
    from: "if (!this.declaresStateful(http) && request.isModern)",
    to: "if (this.declaresStateful(http) && request.isModern)",
    test: sessions
  },
  {
    name: "Each request that meets an outage of the database is a line of the log",
    file: "packages/nodes/src/directory/Outage.ts",
    from: "this.failures++ === 0",
    to: "this.failures++ >= 0",
    test: directory
  },
  {
    name: "A bucket on Postgres is full again with each use",
    file: "packages/nodes/src/postgres/rates.ts",
    from: "least(2 * EXCLUDED.rate, mcp_rate.tokens",
    to: "least(2 * EXCLUDED.rate, 2 * EXCLUDED.rate",
    test: rates
  },
  {
    name: "A bucket on Redis holds more than twice its rate",
    file: "packages/nodes/src/redis/scripts.ts",
    from: "tokens = math.min(tokens, known[1]",
    to: "tokens = math.max(tokens, known[1]",
    test: rates
  },
  {
    name: "A guest runs requests of another user",
    file: "packages/server/src/http/session/GuestSessions.ts",
    from: "return guest?.session?.owner === ownerOf(http) ? guest : undefined",
    to: "return guest",
    test: guests
  },
  {
    name: "An answer to a question of a guest stays at the node that holds the session",
    file: "packages/server/src/http/session/HttpSession.ts",
    from: "if (this.guests?.takes(inbound) === true) return",
    to: "",
    test: guests
  },
  {
    name: "A guest does not learn of a new log level",
    file: "packages/server/src/http/session/SharedSessions.ts",
    from: "Effect.andThen(kept, guests.levelled(session?.logLevel))",
    to: "kept",
    test: guests
  },
  {
    name: "A guest runs on after its session has ended",
    file: "packages/server/src/http/session/HeldGuests.ts",
    from: 'this.tell({ kind: "end", reason })',
    to: "Effect.void",
    test: guests
  },
  {
    name: "A guest runs requests after the lease of the node that holds the session",
    file: "packages/server/src/http/session/GuestSessions.ts",
    from: "guest.until = asked + left",
    to: "guest.until = Infinity",
    test: guests
  },
  {
    name: "A call at a guest does not keep its session open",
    file: "packages/server/src/http/session/GuestEndpoint.ts",
    from: "if (used) session.touch()",
    to: "",
    test: guests
  },
  {
    name: "A cancel does not reach the guest that runs the request",
    file: "packages/server/src/http/session/HeldGuests.ts",
    from: "for (const each of this.guests.keys()) this.pass(each, message)",
    to: "",
    test: guests
  },
  {
    name: "Guests of two sessions have the same number",
    file: "packages/server/src/http/session/questionIds.ts",
    from: "return taken.has(number) ? drawGuest(taken) : number",
    to: "return number",
    test: guests
  },
  {
    name: "A request of 2026-07-28 that names a session runs in it at a guest",
    file: "packages/server/src/http/session/GuestSessions.ts",
    from: " && !isModern(request)",
    to: "",
    test: guests
  },
  {
    name: "An answer that comes before a guest has found the new node is lost",
    file: "packages/server/src/http/session/HeldGuests.ts",
    from: "if (node === undefined) this.keep(guest, message)",
    to: "if (node === undefined) return true",
    test: held
  },
  {
    name: "A node that leaves interrupts the requests that it passes on to other nodes",
    file: "packages/server/src/http/Endpoint.ts",
    from: "shared, keepAlive, fork, passOn",
    to: "shared, keepAlive, fork, passOn: fork",
    test: "packages/nodes/test/process/leave.test.ts"
  }
]
