/** Requirements on prompts: declaring, listing, getting, contents of messages, errors. */
import { at, both, client, every, requirements, server, since } from "../Requirement.ts"

export const prompts = requirements(
  at("server/prompts#capabilities", every, {
    "prompts.capability.declared": server.must("A server that has prompts declares the `prompts` capability.")
  }),
  at("server/prompts#list-changed-notification", every, {
    "prompts.list-changed.sent": server.should(
      "A server that declared `prompts.listChanged` sends a notification when its list of prompts changes."
    )
  }),
  at("server/prompts#image-content", every, {
    "prompts.content.image": server.must("Image content is base64 and has a valid MIME type.")
  }),
  at("server/prompts#audio-content", since("2025-03-26"), {
    "prompts.content.audio": server.must("Audio content is base64 and has a valid MIME type.")
  }),
  at("server/prompts#embedded-resources", every, {
    "prompts.content.resource-uri": server.must("An embedded resource has a valid URI."),
    "prompts.content.resource-mime-type": server.must("An embedded resource has the fitting MIME type."),
    "prompts.content.resource-contents": server.must("An embedded resource holds text or a base64 blob.")
  }),
  at("server/prompts#error-handling", every, {
    "prompts.get.unknown": server.should("Getting an unknown prompt is answered with error -32602."),
    "prompts.get.missing-argument": server.should("A missing required argument is answered with error -32602."),
    "prompts.error.internal": server.should("A failure inside the server is answered with error -32603.")
  }),
  at("server/prompts#implementation-considerations", every, {
    "prompts.get.arguments-validated": server.should("A server validates the arguments before it makes the prompt."),
    "prompts.list.client-paginates": client.should("A client can page through a long list of prompts."),
    "prompts.capability.respected": both.should("Both sides keep to the negotiated capabilities of prompts.")
  }),
  at("server/prompts#security", every, {
    "prompts.security.validated": both.must("The inputs and outputs of prompts are validated against injection.")
  }),
  at("server/prompts#capabilities", since("2026-07-28"), {
    "prompts.list.answered": server.must(
      "A server that declares `prompts` answers `prompts/list` with the prompts that the caller may see."
    ),
    "prompts.list.not-per-connection": server.mustNot(
      "The list of prompts varies neither with the connection nor with other requests on it."
    )
  })
)
