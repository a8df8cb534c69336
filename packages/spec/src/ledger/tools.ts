/** Requirements on tools: declaring, listing, calling, results, errors, trust. */
import { at, both, client, every, host, requirements, server, since } from "../Requirement.ts"

export const tools = requirements(
  at("server/tools#user-interaction-model", every, {
    "tools.consent.human-in-loop": host.should("A human can always deny the invocation of a tool."),
    "tools.ui.shows-exposed": host.should("The user interface shows which tools are exposed to the model."),
    "tools.ui.shows-invocations": host.should("The user interface shows when a tool is invoked."),
    "tools.ui.confirms": host.should("The user interface asks for confirmation before an operation.")
  }),
  at("server/tools#capabilities", every, {
    "tools.capability.declared": server.must("A server that has tools declares the `tools` capability.")
  }),
  at("server/tools#list-changed-notification", every, {
    "tools.list-changed.sent": server.should(
      "A server that declared `tools.listChanged` sends a notification when its list of tools changes."
    )
  }),
  at("server/tools#tool", since("2025-03-26"), {
    "tools.annotations.untrusted": client.must(
      "A client treats tool annotations as untrusted unless they come from a trusted server."
    )
  }),
  at("server/tools#tool", since("2025-11-25"), {
    "tools.definition.input-schema-object": server.must(
      "The input schema of a tool is a JSON Schema object, never null."
    ),
    "tools.definition.no-parameters": server.should(
      "The input schema of a tool without parameters accepts only empty objects."
    )
  }),
  at("server/tools#tool-names", since("2025-11-25"), {
    "tools.name.length": server.should("A tool name has 1 to 128 characters.", { sameInAll: true }),
    "tools.name.case-sensitive": server.should("Tool names that differ in case are different names."),
    "tools.name.characters": server.should(
      "A tool name only contains ASCII letters, digits, underscores, hyphens and dots.",
      { sameInAll: true }
    ),
    "tools.name.no-special-characters": server.shouldNot(
      "The name of a tool contains no spaces, commas or other special characters.",
      { sameInAll: true }
    ),
    "tools.name.unique": server.should("A tool name is unique within its server.", { sameInAll: true })
  }),
  at("server/tools#embedded-resources", since("2025-06-18"), {
    "tools.result.embedded-resource-capability": server.should(
      "A server whose tools return embedded resources implements the `resources` capability."
    )
  }),
  at("server/tools#structured-content", since("2025-06-18"), {
    "tools.result.structured-text-mirror": server.should(
      "A result with structured content also carries its serialized JSON in a text block."
    )
  }),
  at("server/tools#output-schema", since("2025-06-18"), {
    "tools.result.structured-conforms": server.must(
      "A tool with an output schema returns structured content that conforms to the schema."
    ),
    "tools.result.structured-validated": client.should(
      "A client validates structured content against the output schema."
    )
  }),
  at("server/tools#error-handling", every, {
    "tools.call.unknown-tool": server.should("A call to an unknown tool is answered with a JSON-RPC error.", {
      plain: true
    }),
    "tools.call.error-in-result": server.should(
      "An error that originates from the tool itself is a result with `isError: true`, not a JSON-RPC error."
    )
  }),
  at("server/tools#error-handling", since("2025-11-25"), {
    "tools.call.invalid-input-in-result": server.should(
      "Arguments that fail the validation of the tool are answered with a result that has `isError: true`.",
      { plain: true }
    ),
    "tools.result.error-given-to-model": host.should(
      "Tool execution errors are given to the model, so that it can correct itself."
    )
  }),
  at("server/tools#security-considerations", every, {
    "tools.security.input-validated": server.must("A server validates the input of every tool call."),
    "tools.security.access-control": server.must("A server can control who may call which tool."),
    "tools.security.rate-limited": server.must("A server limits the rate of tool calls."),
    "tools.security.output-sanitized": server.must("A server sanitizes the output of its tools.", {
      note: "What is harmful in an output is known only to the author of the tool."
    }),
    "tools.security.confirms-sensitive": host.should("The user confirms sensitive operations."),
    "tools.security.shows-input": host.should("The user sees the input of a tool before it is sent to the server."),
    "tools.security.result-validated": client.should(
      "A client validates the result of a tool before it reaches the model."
    ),
    "tools.security.timeout": client.should("A client limits how long it waits for a tool."),
    "tools.security.audited": client.should("A client can log the use of tools for an audit.")
  }),
  at("server/tools#capabilities", since("2026-07-28"), {
    "tools.list.answered": server.must(
      "A server that declares `tools` answers `tools/list` with the tools that the caller may see."
    ),
    "tools.list.not-per-connection": server.mustNot(
      "The list of tools varies neither with the connection nor with other requests on it."
    ),
    "tools.list.order": server.should("Tools are listed in the same order as long as they stay the same.")
  }),
  at("server/tools#tool-names", since("2026-07-28"), {
    "tools.name.disambiguated": both.should("Who joins the tools of several servers makes equal names distinct."),
    "tools.name.not-by-server-name": both.shouldNot("Names are not made distinct by the server's own name.")
  }),
  at("server/tools#x-mcp-header", since("2026-07-28"), {
    "tools.header.not-empty": server.mustNot("The name in an `x-mcp-header` annotation is not empty."),
    "tools.header.token": server.must("The name in an `x-mcp-header` annotation is an HTTP token."),
    "tools.header.no-control-characters": server.mustNot(
      "The name in an `x-mcp-header` annotation has no line breaks."
    ),
    "tools.header.unique": server.must("No two arguments of a tool have the same header, whatever its case."),
    "tools.header.primitive": server.must("Only strings, integers and booleans are annotated with `x-mcp-header`."),
    "tools.header.safe-integer": server.must("An integer in a header is within the safe range of JavaScript."),
    "tools.header.reachable": server.must("An annotated argument is reached from the root by `properties` alone."),
    "tools.header.rejected": client.must("A client over HTTP rejects a tool with an invalid annotation."),
    "tools.header.excluded": client.must("A rejected tool is missing from the list that a client returns."),
    "tools.header.logged": client.should("A client logs which tool it rejected and why."),
    "tools.header.nothing-sensitive": server.shouldNot("Sensitive arguments are not annotated with `x-mcp-header`.", {
      note: "Only the author of the tool knows what is sensitive."
    })
  }),
  at("server/tools#security-considerations", since("2026-07-28"), {
    "tools.security.references": client.should("A client that validates by a tool's schemas fetches no references.")
  })
)
