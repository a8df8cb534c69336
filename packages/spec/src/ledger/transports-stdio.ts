/** Requirements on stdio, and those on every transport (area `transport`). */
import { at, both, client, every, requirements, server, since, stateful } from "../Requirement.ts"

export const stdio = requirements(
  at("basic/transports", stateful, {
    "stdio.client.supported": client.should("A client supports stdio.")
  }),
  at("basic/transports#stdio", every, {
    "stdio.framing.newline": both.mustNot(
      "Messages are delimited by newlines and never contain an embedded one, whatever their strings hold.",
      { sameInAll: true }
    ),
    "stdio.stdout.only-messages": server.mustNot("A server never writes anything to stdout but protocol messages.", {
      sameInAll: true
    }),
    "stdio.stdin.only-messages": client.mustNot("A client only writes messages to the server's stdin.")
  }),
  at("basic/transports#stdio", since("2025-11-25"), {
    "stdio.stderr.not-an-error": client.shouldNot("A client does not treat output on stderr as an error.", {
      sameInAll: true
    })
  }),
  at("basic/transports/stdio", since("2026-07-28"), {
    "stdio.framing.reused": both.should("Transports over other byte streams use the framing of stdio.")
  }),
  at("basic/transports/stdio#sending-messages", since("2026-07-28"), {
    "stdio.client.no-responses": client.mustNot("A client never writes a response.")
  }),
  at("basic/transports/stdio#receiving-messages", since("2026-07-28"), {
    "stdio.server.no-requests": server.mustNot("A server never writes a request.")
  }),
  at("basic/transports/stdio#cancellation", since("2026-07-28"), {
    "stdio.cancel.stops": server.should("A server stops working on a cancelled request."),
    "stdio.cancel.nothing-more": server.mustNot("Nothing is sent any more for a cancelled request.")
  }),
  at("basic/transports/stdio#shutdown", since("2026-07-28"), {
    "stdio.shutdown.forced": client.should("A server that does not exit in reasonable time is forcibly terminated."),
    "stdio.shutdown.end-of-input": server.should("A server exits promptly when its stdin is closed.")
  }),
  at("basic/transports/stdio#unexpected-termination", since("2026-07-28"), {
    "stdio.client.restarts": client.should("A client restarts a server that exited unexpectedly.")
  }),
  at("basic/transports/stdio#backward-compatibility", since("2026-07-28"), {
    "stdio.compatibility.probes": client.should("A client of both eras sends `server/discover` first."),
    "stdio.compatibility.any-error": client.mustNot("The fallback to `initialize` depends on no single error code."),
    "stdio.compatibility.probes-modern": client.should(
      "A client that supports no version with a handshake also sends `server/discover` first."
    )
  })
)

export const transport = requirements(
  at("basic/transports", since("2025-03-26"), {
    "transport.encoding.utf-8": both.must("Messages are encoded in UTF-8.", { sameInAll: true })
  }),
  at("basic/transports#custom-transports", every, {
    "transport.custom.documented": both.should(
      "A custom transport documents how connections are made and messages exchanged.",
      { note: "Concerns documentation that the author of the transport writes." }
    )
  }),
  at("basic/transports#custom-transports", stateful, {
    "transport.custom.preserves-protocol": both.must(
      "A custom transport preserves the JSON-RPC message format and the lifecycle."
    )
  }),
  at("basic/transports#messages", since("2026-07-28"), {
    "transport.directions": both.must(
      "A transport carries the client's requests and notifications, and the server's responses and notifications."
    )
  }),
  at("basic/transports#custom-transports", since("2026-07-28"), {
    "transport.custom.preserves-patterns": both.must(
      "A custom transport preserves the message format, the message patterns and the metadata of requests."
    )
  })
)
