/** Faults put in by hand, and the test that notices each. */
import type { Fault } from "@effect-mcp/spec/Fault"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "an entry of a program takes the place of a record in the chain",
    file: "packages/operate/src/audit/Trail.ts",
    from: "...fieldsOf(entry)",
    to: "...entry",
    test: "packages/operate/test/audit/Audit.test.ts"
  },
  {
    name: "the bytes of event streams are not counted",
    file: "packages/server/src/http/response/SseBody.ts",
    from: 'if (text !== "") this.written?.(text)',
    to: "",
    test: "packages/operate/test/telemetry/Streams.test.ts"
  },
  {
    name: "an event store that lags behind is not seen",
    file: "packages/operate/src/telemetry/ServerMetrics.ts",
    from: "counts.unkept += session.unkept ?? 0",
    to: "",
    test: "packages/operate/test/telemetry/Streams.test.ts"
  },
  {
    name: "the figures of parked tasks stay those of the first export",
    file: "packages/operate/src/telemetry/TaskMetrics.ts",
    from: "now - this.looked >= fresh",
    to: "this.looked === -Infinity",
    test: "packages/operate/test/Tasks.test.ts"
  },
  {
    name: "each follower of the changes reads for itself",
    file: "packages/operate/src/admin/changes.ts",
    from: 'Stream.share({ capacity: 1, strategy: "sliding", replay: 1 })',
    to: "Effect.succeed",
    test: "packages/operate/test/admin/changes.test.ts"
  },
  {
    name: "every name that a client sends is a series",
    file: "packages/operate/src/telemetry/Operations.ts",
    from: "if (!succeeded || this.names.size >= most) return undefined",
    to: "if (this.names.size >= most) return undefined",
    test: "packages/operate/test/telemetry/Telemetry.test.ts"
  },
  {
    name: "a series that the program has taken out of its registry stays away",
    file: "packages/operate/src/telemetry/Durations.ts",
    from: "siblings.changes++",
    to: "",
    test: "packages/operate/test/telemetry/Operations.test.ts"
  },
  {
    name: "requests of another revision are measured as those before",
    file: "packages/operate/src/telemetry/Operations.ts",
    from: " && this.revision === revision",
    to: "",
    test: "packages/operate/test/telemetry/Operations.test.ts"
  },
  {
    name: "a task that an engine runs is not known when it ends",
    file: "packages/tasks/src/run/observedStore.ts",
    from: "Option.map(taken, leased)",
    to: "Option.isSome(taken)",
    test: "packages/durable/test/workflow/engine.test.ts"
  },
  {
    name: "the wait for a permit is not measured",
    file: "packages/core/src/peer/Inbound.ts",
    from: "next.waited = observer.now() - next.arrived",
    to: "next.waited = 0",
    test: "packages/operate/test/telemetry/Telemetry.test.ts"
  },
  {
    name: "a request that is refused is not observed",
    file: "packages/core/src/peer/Inbound.ts",
    from: "this.observed(entry, Exit.fail(error))",
    to: "",
    test: "packages/operate/test/telemetry/Telemetry.test.ts"
  },
  {
    name: "a session that has ended is not measured",
    file: "packages/server/src/dispatch/SessionFactory.ts",
    from: "if (sessions.delete(session) && !session.isGuest) shared.observer?.closed?.(session)",
    to: "sessions.delete(session)",
    test: "packages/operate/test/telemetry/Telemetry.test.ts"
  },
  {
    name: "a mistake of the client is an error of the server's span",
    file: "packages/core/src/peer/Spans.ts",
    from: "!isServerError(failure.error.code) ? Exit.void : exit",
    to: "!isServerError(failure.error.code) ? exit : exit",
    test: "packages/testing/test/Spans.test.ts"
  },
  {
    name: "a message that is passed on names its first sender's span as its parent",
    file: "packages/core/src/peer/Spans.ts",
    from: "named?.traceId === current?.traceId ? undefined : named",
    to: "named",
    test: "packages/operate/test/telemetry/Export.test.ts"
  },
  {
    name: "a sent notification does not carry its span",
    file: "packages/core/src/peer/Spans.ts",
    from: "params: withEntries(params, fiber.context)",
    to: "params",
    test: "packages/testing/test/SentSpans.test.ts"
  },
  {
    name: "all progress is in the trace of its request",
    file: "packages/core/src/peer/Spans.ts",
    from: "if (before >= maxProgress) return",
    to: "",
    test: "packages/testing/test/SentSpans.test.ts"
  },
  {
    name: "a notification that is sent outside of fibers has no span",
    file: "packages/core/src/peer/Spans.ts",
    from: "fiber?.context ?? sender?.tracing",
    to: "fiber?.context",
    test: "packages/testing/test/SentSpans.test.ts"
  },
  {
    name: "a metric of the dashboard does not exist",
    file: "packages/operate/src/telemetry/Names.ts",
    from: '"mcp.server.backlog"',
    to: '"mcp.server.waiting"',
    test: "packages/operate/test/telemetry/Prometheus.test.ts"
  },
  {
    name: "a parked task is not in the view",
    file: "packages/tasks/src/server/View.ts",
    from: "return [...running, ...waiting.filter(({ id }) => !ids.has(id))]",
    to: "return running",
    test: "packages/operate/test/Tasks.test.ts"
  },
  {
    name: "a view shows the id of a task that is the right to use it",
    file: "packages/server/src/request/shownId.ts",
    from: "caller?.subject === undefined ? digest(id) : id",
    to: "id",
    test: "packages/operate/test/Tasks.test.ts"
  },
  {
    name: "a run that was parked is a failure of its span",
    file: "packages/core/src/peer/Spans.ts",
    from: 'if (end() === "parked") span.end(',
    to: 'if (end() === "ended") span.end(',
    test: "packages/operate/test/Tasks.test.ts"
  },
  {
    name: "a second cancel of a task is counted",
    file: "packages/tasks/src/run/observedStore.ts",
    from: "(isOpen(before) ? cancelled(after) : Effect.void)",
    to: "cancelled(after)",
    test: "packages/operate/test/Tasks.test.ts"
  },
  {
    name: "a server that drains opens sessions over HTTP",
    file: "packages/server/src/http/request/InFlightRequests.ts",
    from: "return (!this.draining || this.serves) && !this.drain.isDraining",
    to: "return !this.draining",
    test: "packages/operate/test/admin/Steer.test.ts"
  },
  {
    name: "a server that drains opens sessions in memory",
    file: "packages/server/src/dispatch/StatefulEra.ts",
    from: "if (drain.isDraining) return",
    to: "if (drain === undefined) return",
    test: "packages/operate/test/admin/Steer.test.ts"
  },
  {
    name: "a drain does not wait for the calls that run",
    file: "packages/server/src/session/Drain.ts",
    from: "return runs ? Effect.andThen(Effect.sleep(look), this.idle) : Effect.void",
    to: "return Effect.void",
    test: "packages/operate/test/admin/Steer.test.ts"
  },
  {
    name: "the answer to a call that ran before the first look is not shown",
    file: "packages/core/src/peer/Router.ts",
    from: "for (const request of this.inbound.open) request.sink = this.watched(request.sink)",
    to: "this.watched(this.sink)",
    test: "packages/operate/test/admin/Steer.test.ts"
  },
  {
    name: "bodies of messages are shown though no program asks for them",
    file: "packages/operate/src/admin/Messages.ts",
    from: "body: bodies === undefined ? undefined : textOf(bodyOf(message), bodies.redact)",
    to: "body: textOf(bodyOf(message), bodies?.redact ?? [])",
    test: "packages/operate/test/admin/Steer.test.ts"
  },
  {
    name: "sessions of two nodes have the same id",
    file: "packages/operate/src/admin/Cluster.ts",
    from: "({ ...session, id: marked(session.id, node), node })",
    to: "({ ...session, node })",
    test: "packages/operate/test/process/admin/Cluster.test.ts"
  },
  {
    name: "an action is done at the node that is asked",
    file: "packages/operate/src/admin/Cluster.ts",
    from: "if (name === this.self) return this.here(action)",
    to: "if (name !== undefined) return this.here(action)",
    test: "packages/operate/test/process/admin/Cluster.test.ts"
  },
  {
    name: "a server that drains says that it is ready",
    file: "packages/operate/src/health/Health.ts",
    from: "yield* onShutdown(health.drain)",
    to: "",
    test: "packages/operate/test/health/Health.test.ts"
  },
  {
    name: "an audit file has a line twice after a write that stopped halfway",
    file: "packages/operate/src/audit/Sink.ts",
    from: "bytes.subarray(Math.max(0, Number(size - begun)))",
    to: "bytes",
    test: "packages/operate/test/audit/Audit.test.ts"
  },
  {
    name: "an audit trail that blocks drops requests",
    file: "packages/operate/src/audit/Trail.ts",
    from: "this.waiting.length >= most && !isAdmitted",
    to: "this.waiting.length >= most",
    test: "packages/operate/test/audit/Audit.test.ts"
  },
  {
    name: "the admin endpoint shows the query of a resource",
    file: "packages/operate/src/admin/Snapshot.ts",
    from: "? withoutSecrets(target) : target,",
    to: "? target : target,",
    test: "packages/operate/test/admin/Admin.test.ts"
  },
  {
    name: "a line of an audit trail that was hashed anew passes",
    file: "packages/operate/src/audit/verify.ts",
    from: "else if (linked.prev !== tail.hash)",
    to: "else if (linked.prev === linked.hash)",
    test: "packages/operate/test/audit/Audit.test.ts"
  },
  {
    name: "requests do not wait for a slow audit trail",
    file: "packages/server/src/dispatch/SessionFactory.ts",
    from: "const full = this.shared.observer?.admit?.()",
    to: "const full: Effect.Effect<void> | undefined = undefined as Effect.Effect<void> | undefined",
    test: "packages/operate/test/audit/Audit.test.ts"
  },
  {
    name: "an audit trail has the value of a redacted argument",
    file: "packages/operate/src/audit/entries.ts",
    from: 'redact.includes(key) ? "[redacted]" : inner',
    to: "redact.includes(key) ? inner : inner",
    test: "packages/operate/test/audit/Audit.test.ts"
  },
  {
    name: "an audit trail has the query of a resource",
    file: "packages/protocol/src/Excerpt.ts",
    from: 'uri.replace(/[?#][^]*$/, "")',
    to: "uri",
    test: "packages/operate/test/audit/Audit.test.ts"
  },
  {
    name: "a token that may only see interrupts",
    file: "packages/operate/src/admin/Access.ts",
    from: 'wanted === "steer" && right === "see"',
    to: 'wanted !== "steer" && right !== "see" && false',
    test: "packages/operate/test/admin/Admin.test.ts"
  },
  {
    name: "the admin endpoint answers a name that was rebound",
    file: "packages/operate/src/admin/Access.ts",
    from: "return rebound === undefined ? undefined : forbidden(rebound)",
    to: "return rebound === undefined ? undefined : undefined",
    test: "packages/operate/test/admin/Admin.test.ts"
  },
  {
    name: "the admin endpoint shows the id of a session over HTTP",
    file: "packages/operate/src/admin/Snapshot.ts",
    from: "session.duplex ? session.id : digest(session.id)",
    to: "session.duplex ? session.id : session.id",
    test: "packages/operate/test/admin/Admin.test.ts"
  },
  {
    name: "a connection that replaces another is not counted",
    file: "packages/client/src/connection/observe.ts",
    from: "if (before) return callEach(all, (one) => one.reconnected?.())",
    to: "",
    test: "packages/operate/test/telemetry/Telemetry.test.ts"
  },
  {
    name: "what an endpoint refuses is not observed",
    file: "packages/server/src/http/observedEndpoint.ts",
    from: "if (refused !== undefined) look(http, refused)",
    to: "",
    test: "packages/operate/test/telemetry/Telemetry.test.ts"
  },
  {
    name: "spans have the arguments of calls unasked",
    file: "packages/core/src/peer/Spans.ts",
    from: "defaultValue: () => () => undefined",
    to: "defaultValue: () => (_, args) => JSON.stringify(args)",
    test: "packages/testing/test/Spans.test.ts"
  },
  {
    name: "a span has the user and the query of a resource",
    file: "packages/core/src/peer/Spans.ts",
    from: "cut(withoutSecrets(uri))",
    to: "cut(uri)",
    test: "packages/testing/test/Spans.test.ts"
  },
  {
    name: "a password with an @ in it stays in a URI",
    file: "packages/protocol/src/Excerpt.ts",
    from: "[^/\\\\]*@/",
    to: "[^/\\\\@]*@/",
    test: "packages/testing/test/Spans.test.ts"
  },
  {
    name: "the admin endpoint takes what a proxy forwards for local",
    file: "packages/operate/src/admin/Access.ts",
    from: "proxied.some((name) => headers[name] !== undefined)",
    to: "proxied.every((name) => headers[name] !== undefined)",
    test: "packages/operate/test/admin/Admin.test.ts"
  },
  {
    name: "a bigint stops the audit trail",
    file: "packages/operate/src/audit/chain.ts",
    from: "return JSON.stringify({ ...fields, prev }, numbers)",
    to: "return JSON.stringify({ ...fields, prev })",
    test: "packages/operate/test/audit/Audit.test.ts"
  },
  {
    name: "the token of top goes to any host in plain text",
    file: "packages/cli/src/top/Place.ts",
    from: 'protocol === "https:" ||',
    to: 'protocol !== "" ||',
    test: "packages/cli/test/process/commands/Top.test.ts"
  },
  {
    name: "the socket of the admin endpoint is open to others",
    file: "packages/operate/src/admin/PrivateSocket.ts",
    from: "process.umask(0o177)",
    to: "process.umask(0o022)",
    test: "packages/cli/test/process/commands/Top.test.ts"
  },
  {
    name: "a file in the place of a socket is deleted",
    file: "packages/operate/src/admin/PrivateSocket.ts",
    from: " && lstatSync(path).isSocket()",
    to: "",
    test: "packages/cli/test/process/commands/Top.test.ts"
  },
  {
    name: "the admin endpoint of a socket begins where others can open it",
    file: "packages/operate/src/admin/Access.ts",
    from: "(mode & ofOthers) === 0",
    to: "(mode & ofOthers) !== -1",
    test: "packages/cli/test/process/commands/Top.test.ts"
  },
  {
    name: "top sends to the socket of another user",
    file: "packages/cli/src/top/Place.ts",
    from: "file.uid !== user",
    to: "file.uid === user",
    test: "packages/cli/test/process/commands/Top.test.ts"
  },
  {
    name: "the end of a task that expires while it is parked is not observed",
    file: "packages/tasks/src/run/observedStore.ts",
    from: 'tell(id, { input, createdAt }, "expired")',
    to: "Effect.void",
    test: "packages/operate/test/Tasks.test.ts"
  },
  {
    name: "top sends to a socket that others can open",
    file: "packages/cli/src/top/Place.ts",
    from: "(file.mode & ofOthers) === 0",
    to: "(file.mode & ofOthers) !== -1",
    test: "packages/cli/test/process/commands/Top.test.ts"
  },
  {
    name: "a duration that is a bound is counted above it",
    file: "packages/operate/src/telemetry/Durations.ts",
    from: "seconds > (boundaries[bucket] ?? 0)",
    to: "seconds >= (boundaries[bucket] ?? 0)",
    test: "packages/operate/test/telemetry/Durations.test.ts"
  },
  {
    name: "a layer hides the durations of another one",
    file: "packages/operate/src/telemetry/Durations.ts",
    from: "if (known !== undefined) return known",
    to: "",
    test: "packages/operate/test/telemetry/Durations.test.ts"
  },
  {
    name: "a series that was taken out of its registry never comes back",
    file: "packages/operate/src/telemetry/Durations.ts",
    from: "this.registry.get(this.key) !== this.entry",
    to: "this.key === ''",
    test: "packages/operate/test/telemetry/Durations.test.ts"
  },
  {
    name: "a follower counts from its first line on",
    file: "packages/operate/src/admin/Admin.ts",
    from: "followers < followersAtMost && ++followers > 0",
    to: "followers < followersAtMost",
    test: "packages/operate/test/admin/AdminRoutes.test.ts"
  },
  {
    name: "each caller reads what runs by itself",
    file: "packages/operate/src/admin/SharedRead.ts",
    from: "if (isReading) return Deferred.await(answer)",
    to: "",
    test: "packages/operate/test/admin/SharedRead.test.ts"
  },
  {
    name: "a read of what runs ends with the caller that began it",
    file: "packages/operate/src/admin/SharedRead.ts",
    from: "Effect.forkIn(reads, scope)",
    to: "reads",
    test: "packages/operate/test/admin/SharedRead.test.ts"
  },
  {
    name: "a second process adds its lines to an audit table",
    file: "packages/operate/src/audit/AuditSql.ts",
    from: "there.some(({ line }, i) => line !== rows[i]?.line)",
    to: "there.some(({ line }, i) => line === undefined && i < 0)",
    test: "packages/operate/test/process/audit/AuditSql.test.ts"
  },
  {
    name: "a parameter of a method that is not known is shown as its target",
    file: "packages/operate/src/admin/Messages.ts",
    from: "own === undefined ? asked?.target : namedIn(own)",
    to: "own === undefined ? asked?.target : targetOf(own.params ?? {})",
    test: "packages/operate/test/admin/Steer.test.ts"
  },
  {
    name: "the text of a structured result shows an operator what its redaction hides",
    file: "packages/operate/src/admin/Messages.ts",
    from: "? redactedText(inner, redact) : inner",
    to: "? inner : inner",
    test: "packages/operate/test/admin/Steer.test.ts"
  }
]
