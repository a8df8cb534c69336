/** Requirements on initialization, version negotiation, operation, shutdown and timeouts. */
import { at, both, client, every, only, requirements, server, since, stateful } from "../Requirement.ts"

export const lifecycle = requirements(
  at("basic", stateful, {
    "lifecycle.base.supported": both.must("Every implementation supports the base protocol and lifecycle management.")
  }),
  at("basic/lifecycle#initialization", stateful, {
    "lifecycle.initialize.first": both.must("The initialize exchange is the first interaction of a connection."),
    "lifecycle.initialize.request": client.must(
      "A client opens with an `initialize` request that carries its protocol version, capabilities and implementation info."
    ),
    "lifecycle.initialize.response": server.must(
      "A server answers `initialize` with its protocol version, capabilities and implementation info."
    ),
    "lifecycle.initialized.sent": client.must(
      "A client sends `notifications/initialized` once `initialize` was answered successfully."
    ),
    "lifecycle.client.only-ping-before-answer": client.shouldNot(
      "A client sends no request but `ping` before `initialize` is answered."
    ),
    "lifecycle.server.only-ping-and-log-before-initialized": server.shouldNot(
      "A server sends no request but `ping`, and nothing else but log messages, before it receives `notifications/initialized`."
    )
  }),
  at("basic/lifecycle#initialization", only("2025-03-26"), {
    "lifecycle.initialize.not-batched": client.mustNot("The `initialize` request is never part of a batch.")
  }),
  at("basic/lifecycle#version-negotiation", stateful, {
    "lifecycle.version.client-supports-offer": client.must("A client offers a protocol version that it supports."),
    "lifecycle.version.client-offers-latest": client.should("A client offers the latest version that it supports."),
    "lifecycle.version.server-echoes-supported": server.must(
      "A server that supports the offered version answers with the same version."
    ),
    "lifecycle.version.server-answers-other": server.must(
      "A server that does not support the offered version answers with another version that it supports."
    ),
    "lifecycle.version.server-answers-latest": server.should(
      "The other version that a server answers with is the latest one that it supports."
    ),
    "lifecycle.version.client-disconnects": client.must(
      "A client closes the connection if the server answers with a version that the client does not support."
    )
  }),
  at("basic/lifecycle#capability-negotiation", stateful, {
    "lifecycle.capability.experimental": both.must(
      "Features beyond the specification are declared in `experimental` of the capabilities.",
      { plain: true }
    )
  }),
  at("basic/lifecycle#operation", stateful, {
    "lifecycle.operation.version-respected": both.must("Both sides keep to the negotiated protocol version.", {
      softer: ["2024-11-05", "2025-03-26"]
    }),
    "lifecycle.operation.capabilities-respected": both.must(
      "Both sides use only the capabilities that were negotiated.",
      { softer: ["2024-11-05", "2025-03-26"] }
    )
  }),
  at("basic/lifecycle#stdio", every, {
    "lifecycle.shutdown.stdio-close-stdin": client.should(
      "A client shuts a stdio server down by closing its stdin first and then waits for it to exit.",
      { sameInAll: true }
    )
  }),
  at("basic/lifecycle#stdio", stateful, {
    "lifecycle.shutdown.stdio-sigterm": client.should(
      "A client sends SIGTERM to a stdio server that does not exit in reasonable time after its stdin closed.",
      { sameInAll: true }
    ),
    "lifecycle.shutdown.stdio-sigkill": client.should(
      "A client sends SIGKILL to a stdio server that does not exit in reasonable time after SIGTERM.",
      { sameInAll: true }
    )
  }),
  at("basic/lifecycle#timeouts", every, {
    "lifecycle.timeout.every-request": both.should("Every sent request has a timeout.")
  }),
  at("basic/lifecycle#timeouts", since("2025-03-26"), {
    "lifecycle.timeout.cancels": both.should(
      "When a request times out, its sender issues a cancellation for it and stops to wait."
    ),
    "lifecycle.timeout.per-request": both.should("The timeout can be configured for each request."),
    "lifecycle.timeout.maximum": both.should("A maximum timeout holds no matter how much progress is reported.")
  }),
  at("basic/lifecycle#error-handling", stateful, {
    "lifecycle.error.version-mismatch": both.should("A protocol version mismatch is handled as a clear error."),
    "lifecycle.error.missing-capability": both.should("A missing required capability is handled as a clear error."),
    "lifecycle.error.timeout": both.should(
      "A request that times out, `initialize` included, is handled as a clear error."
    )
  }),
  at("basic/lifecycle#error-handling", only("2024-11-05"), {
    "lifecycle.error.shutdown-timeout": both.should("A shutdown that takes too long is handled.")
  })
)
