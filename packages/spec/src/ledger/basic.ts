/** Requirements on `_meta`, icons, JSON Schema and on the security of the whole. */
import { at, both, client, every, host, requirements, server, since, stateful } from "../Requirement.ts"

export const meta = requirements(
  at("basic#meta", since("2025-06-18"), {
    "meta.reserved.no-assumptions": both.mustNot("Nothing is assumed about values at reserved `_meta` keys."),
    "meta.prefix.format": both.must(
      "The prefix of a `_meta` key is a series of labels with dots between, then a slash.",
      { sameInAll: true }
    ),
    "meta.prefix.label": both.must(
      "A label starts with a letter, ends with a letter or digit, has hyphens inside only.",
      { sameInAll: true }
    ),
    "meta.name.format": both.must("The name of a `_meta` key is empty or starts and ends with a letter or digit.", {
      sameInAll: true
    })
  }),
  at("basic#meta", since("2025-11-25"), {
    "meta.prefix.reverse-dns": both.should("The prefix of a `_meta` key is in reverse DNS notation.", {
      note: "The project has no domain to reverse: its one key has the prefix `effect-mcp`."
    })
  }),
  at("basic#meta", since("2026-07-28"), {
    "meta.request.required": client.must(
      "Every request declares its version and the client's capabilities in `_meta`."
    ),
    "meta.request.malformed": server.must("A request without a required field of `_meta` gets error -32602."),
    "meta.request.client-info": client.should(
      "Every request names the client in `_meta`, unless configured otherwise."
    ),
    "meta.capabilities.undeclared": server.mustNot(
      "A server relies on no capability that the request does not declare."
    ),
    "meta.capabilities.missing": server.must(
      "A request that needs a capability it does not declare gets error -32021 with `requiredCapabilities`."
    ),
    "meta.result.server-info": server.should("Every result names the server in `_meta`, unless configured otherwise."),
    "meta.info.behaviour": both.shouldNot("The name of the other side does not change any behaviour."),
    "meta.info.security": both.shouldNot("Nothing about security relies on the name of the other side."),
    "meta.notification.subscription": server.must(
      "Every notification of a subscription carries the id of its request in `_meta`."
    ),
    "meta.extension.prefix": both.must("A `_meta` key that an extension adds has a prefix.", { plain: true }),
    "meta.trace.format": both.must("Trace context in `_meta` has the formats of W3C Trace Context and W3C Baggage.")
  })
)

export const jsonSchema = requirements(
  at("basic#schema-dialect", since("2025-11-25"), {
    "json-schema.dialect.recommended": both.should("Schemas that an implementation writes use JSON Schema 2020-12.")
  }),
  at("basic#implementation-requirements", since("2025-11-25"), {
    "json-schema.dialect.default": both.must("A schema without `$schema` is taken as JSON Schema 2020-12.", {
      sameInAll: true
    }),
    "json-schema.dialect.validated": both.must(
      "A schema is validated by the dialect that it declares, or the default.",
      { sameInAll: true }
    ),
    "json-schema.dialect.unsupported": both.must(
      "An unsupported dialect is answered with an error that names the problem."
    ),
    "json-schema.dialect.documented": both.should("The supported dialects are documented.", {
      note: "Concerns documentation."
    })
  }),
  at("basic#schema-validation", since("2025-11-25"), {
    "json-schema.valid": both.must("A schema is valid by its own dialect.")
  }),
  at("basic#ref-resolution", since("2026-07-28"), {
    "json-schema.ref.not-fetched": both.mustNot("A `$ref` to a network address is never fetched automatically."),
    "json-schema.ref.opt-in": both.must("A mode that fetches references is off by default."),
    "json-schema.ref.guarded": both.should("A mode that fetches references limits hosts, time and size, and logs.", {
      note: "The library has no such mode."
    }),
    "json-schema.ref.unresolved": both.should("A schema with an unresolved reference is rejected.")
  }),
  at("basic#composition-keyword-resource-use", since("2026-07-28"), {
    "json-schema.bounded": both.should("The validation of a schema is bounded in depth, size or time.")
  })
)

export const icons = requirements(
  at("basic#icons", since("2025-11-25"), {
    "icons.types.required": host.must("A client that shows icons supports PNG and JPEG."),
    "icons.types.recommended": host.should("A client that shows icons supports SVG and WebP."),
    "icons.security.precautions": host.must(
      "Icons are handled as untrusted: fetched without credentials, limited in size, checked by their content."
    ),
    "icons.uri.unsafe-rejected": client.must("A client rejects icon URIs that are neither `https` nor `data`."),
    "icons.uri.same-origin": host.should("Icons come from the server's domain or from a trusted domain."),
    "icons.svg.precautions": host.should("An SVG icon is shown with precautions, since it may contain scripts.")
  })
)

export const security = requirements(
  at("#key-principles", every, {
    "security.consent.access": host.must("The user consents to all access to data and all operations.", {
      plain: true
    }),
    "security.consent.exposure": host.must("The user consents before data is exposed to a server.", { plain: true }),
    "security.consent.transmission": host.mustNot("Resource data is not sent anywhere else without consent.", {
      plain: true
    }),
    "security.consent.tools": host.must("The user consents before a tool is called.", { plain: true })
  }),
  at("#key-principles", stateful, {
    "security.consent.sampling": host.must("The user approves every sampling request.", { plain: true })
  }),
  at("#implementation-guidelines", every, {
    "security.guidelines.consent-flows": host.should("An application has robust consent and authorization flows."),
    "security.guidelines.documented": host.should("An application documents the security implications of its use."),
    "security.guidelines.access-controls": host.should("An application controls access to data and protects it."),
    "security.guidelines.best-practices": host.should("An integration follows the security best practices."),
    "security.guidelines.privacy": host.should("Features are designed with privacy in mind.")
  })
)
