/** Requirements on stdio, and those on every transport (area `transport`). */
import { at, both, client, requirements, server, since, stateful } from "../Requirement.ts"

export const stdio = requirements(
  at("basic/transports", stateful, {
    "stdio.client.supported": client.should("A client supports stdio.")
  }),
  at("basic/transports#stdio", stateful, {
    "stdio.framing.newline": both.mustNot(
      "Messages are delimited by newlines and never contain an embedded one, whatever their strings hold."
    ),
    "stdio.stdout.only-messages": server.mustNot("A server never writes anything to stdout but protocol messages."),
    "stdio.stdin.only-messages": client.mustNot("A client never writes anything to the server's stdin but messages.")
  }),
  at("basic/transports#stdio", since("2025-11-25"), {
    "stdio.stderr.not-an-error": client.shouldNot("A client does not take output on stderr for an error.")
  })
)

export const transport = requirements(
  at("basic/transports", since("2025-03-26"), {
    "transport.encoding.utf-8": both.must("Messages are encoded in UTF-8.")
  }),
  at("basic/transports#custom-transports", stateful, {
    "transport.custom.preserves-protocol": both.must(
      "A custom transport preserves the JSON-RPC message format and the lifecycle."
    ),
    "transport.custom.documented": both.should(
      "A custom transport documents how connections are made and messages exchanged.",
      { note: "Concerns documentation that the author of the transport writes." }
    )
  })
)
