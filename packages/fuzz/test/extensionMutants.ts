/** Servers of skills and views with one fault each. */
import { answers, error, instead, isRequest, type Mutant, ok, results } from "./mutants.ts"

type Json = any

const root = "skill://acme/refunds"
const policy = `${root}/references/policy.md`

/** Changes each entry of a listing and of `skills/get`. */
const entries = (change: (entry: Json) => Json) =>
  answers(undefined, (m) => {
    if (m.result?.skills !== undefined) return { ...m, result: { ...m.result, skills: m.result.skills.map(change) } }
    return m.result?.skill === undefined ? m : { ...m, result: { ...m.result, skill: change(m.result.skill) } }
  })
const resources = (change: (files: Json) => Json) =>
  entries((entry) => ({ ...entry, resources: change(entry.resources) }))
const frontmatter = (more: Json) => entries((entry) => ({ ...entry, frontmatter: { ...entry.frontmatter, ...more } }))

/** Changes the contents of one resource. */
const contents = (uri: string, change: (part: Json) => Json) =>
  results("resources/read", (r, { params }) => (params.uri === uri ? { ...r, contents: r.contents.map(change) } : r))
const withUri = (method: string, uri: (uri: string) => boolean) => (m: Json) =>
  isRequest(method)(m) && uri(String(m.params?.uri))
const tools = (change: (tool: Json) => Json) => results("tools/list", (r) => ({ ...r, tools: r.tools.map(change) }))
const ui = (name: string, more: Json) =>
  tools((tool) =>
    tool.name === name ? { ...tool, _meta: { ...tool._meta, ui: { ...tool._meta.ui, ...more } } } : tool
  )
const without = (method: string, field: string) => results(method, (r) => ({ ...r, [field]: undefined }))
const missing = (method: string) => instead(isRequest(method), (m) => error(m, -32601))

const skills: ReadonlyArray<Omit<Mutant, "revision">> = [
  { name: "has no skills/get", finds: "skill-methods skills/get", tap: missing("skills/get") },
  {
    name: "cannot read directories",
    finds: "skill-directory-method resources/directory/read",
    tap: missing("resources/directory/read")
  },
  {
    name: "declares no resources",
    finds: "skill-resources-declared",
    tap: results("server/discover", (r) => ({ ...r, capabilities: { ...r.capabilities, resources: undefined } }))
  },
  {
    name: "lists folders in place of a SKILL.md",
    finds: "skill-has-manifest",
    tap: entries((entry) => ({ ...entry, uri: root }))
  },
  { name: "omits descriptions", finds: "skill-frontmatter-fields", tap: frontmatter({ description: undefined }) },
  {
    name: "serves skills as web pages",
    finds: "skill-uri-scheme",
    tap: entries((entry) => ({ ...entry, uri: entry.uri.replace("skill:", "https:") }))
  },
  { name: "names skills unlike their folders", finds: "skill-name-path", tap: frontmatter({ name: "payments" }) },
  { name: "names a skill in capital letters", finds: "skill-name-rules", tap: frontmatter({ name: "Refunds" }) },
  {
    name: "omits SKILL.md from manifests",
    finds: "skill-manifest-complete",
    tap: resources((files) => files.filter(({ uri }: Json) => !uri.endsWith("refunds/SKILL.md")))
  },
  {
    name: "lists a file twice",
    finds: "skill-manifest-complete",
    tap: resources((files) => [...files, files[0]])
  },
  {
    name: "lists a file outside the skill",
    finds: "skill-files-within",
    tap: resources((files) => [...files, { ...files[0], uri: `${root}/%2e%2E/payments/SKILL.md` }])
  },
  {
    name: "serves too large skills",
    finds: "skill-limits",
    tap: resources((files) => files.map((file: Json) => ({ ...file, size: 2 ** 24 })))
  },
  {
    name: "sends digests in capital letters",
    finds: "skill-digest",
    tap: resources((files) => files.map((file: Json) => ({ ...file, digest: file.digest.toUpperCase() })))
  },
  {
    name: "changes a file after it was listed",
    finds: "skill-digest",
    tap: contents(policy, (part) => ({ ...part, text: "99 days\n" }))
  },
  {
    name: "changes a binary file",
    finds: "skill-digest",
    tap: contents(`${root}/references/table.bin`, (part) => ({ ...part, blob: "AP8C" }))
  },
  {
    name: "sends sizes as text",
    finds: "skill-size",
    tap: resources((files) => files.map((file: Json) => ({ ...file, size: String(file.size) })))
  },
  {
    name: "adds bytes to a file",
    finds: "skill-size",
    tap: contents(policy, (part) => ({ ...part, text: `${part.text}more` }))
  },
  {
    name: "hides a field of the frontmatter",
    finds: "skill-frontmatter-same",
    tap: frontmatter({ license: undefined })
  },
  {
    name: "describes skills unlike their files",
    finds: "skill-frontmatter-same",
    tap: frontmatter({ description: "Harmless" })
  },
  {
    name: "lists a file that it does not serve",
    finds: "skill-file-readable",
    tap: instead(
      withUri("resources/read", (uri) => uri === policy),
      (m) => error(m, -32602)
    )
  },
  {
    name: "serves files that are not listed",
    finds: "skill-file-unlisted",
    tap: instead(
      withUri("resources/read", (uri) => /%2e%2e|\.\./.test(uri)),
      (m) =>
        ok(m, {
          resultType: "complete",
          contents: [{ uri: m.params.uri, text: "root:x:0:0" }],
          ttlMs: 0,
          cacheScope: "private"
        })
    )
  },
  {
    name: "serves skills as plain text",
    finds: "skill-file-type",
    tap: contents(`${root}/SKILL.md`, (part) => ({ ...part, mimeType: "text/plain" }))
  },
  {
    name: "lists skills without their descriptions",
    finds: "skill-file-described",
    tap: results("resources/list", (r) => ({
      ...r,
      resources: r.resources.map((one: Json) => ({ ...one, description: undefined }))
    }))
  },
  {
    name: "leaves a nested skill out of the outer one",
    finds: "skill-nested-listed",
    tap: entries((entry) =>
      entry.uri === `${root}/SKILL.md`
        ? { ...entry, resources: entry.resources.filter(({ uri }: Json) => !uri.includes("/late/")) }
        : entry
    )
  },
  {
    name: "leaves a child out of a directory",
    finds: "skill-directory-children",
    tap: results("resources/directory/read", (r) => ({ ...r, resources: r.resources.slice(1) }))
  },
  {
    name: "lists folders as files",
    finds: "skill-directory-children",
    tap: results("resources/directory/read", (r) => ({
      ...r,
      resources: r.resources.map((one: Json) => ({ ...one, mimeType: "text/plain" }))
    }))
  },
  {
    name: "lists the files of subfolders",
    finds: "skill-directory-children",
    tap: results("resources/directory/read", (r) => ({
      ...r,
      resources: [...r.resources, { uri: `${root}/a/b/c`, name: "c" }]
    }))
  },
  {
    name: "reads any URI as an empty directory",
    finds: "skill-directory-invalid",
    tap: answers("resources/directory/read", (m) =>
      m.error === undefined ? m : ok(m, { resultType: "complete", resources: [], ttlMs: 0, cacheScope: "private" })[0]
    )
  },
  {
    name: "rejects its own cursors",
    finds: "skill-list-pages",
    tap: instead(
      (m) => isRequest("skills/list")(m) && m.params?.cursor === "1",
      (m) => error(m, -32602)
    )
  },
  { name: "lists skills without ttlMs", finds: "skill-list-cache", tap: without("skills/list", "ttlMs") },
  { name: "returns skills without cacheScope", finds: "skill-get-cache", tap: without("skills/get", "cacheScope") },
  {
    name: "returns another entry than it lists",
    finds: "skill-get-entry",
    tap: results("skills/get", (r) => ({
      ...r,
      skill: { ...r.skill, frontmatter: { ...r.skill.frontmatter, license: "GPL" } }
    }))
  },
  {
    name: "returns another skill",
    finds: "skill-get-entry",
    tap: results("skills/get", (r) => ({ ...r, skill: { ...r.skill, uri: "skill://payments/SKILL.md" } }))
  },
  {
    name: "finds any skill",
    finds: "skill-get-unknown",
    tap: answers("skills/get", (m) =>
      m.error === undefined ? m : ok(m, { resultType: "complete", skill: {}, ttlMs: 0, cacheScope: "private" })[0]
    )
  }
]

const view = "ui://dice"

const views: ReadonlyArray<Omit<Mutant, "revision">> = [
  {
    name: "names a web page as a view",
    finds: "view-uri-scheme",
    tap: ui("dice", { resourceUri: "https://x.example" })
  },
  {
    name: "serves views as any page",
    finds: "view-media-type",
    tap: contents(view, (part) => ({ ...part, mimeType: "text/html" }))
  },
  { name: "serves views without HTML", finds: "view-content", tap: contents(view, (part) => ({ ...part, text: "" })) },
  {
    name: "serves no contents of a view",
    finds: "view-content",
    tap: results("resources/read", (r, { params }) => (params.uri === view ? { ...r, contents: [] } : r))
  },
  {
    name: "names a view that does not exist",
    finds: "view-exists",
    tap: instead(
      withUri("resources/read", (uri) => uri === view),
      (m) => error(m, -32602)
    )
  },
  {
    name: "returns no content for a tool with a view",
    finds: "view-tool-content",
    tap: results("tools/call", (r) => ({ ...r, content: [] }))
  },
  {
    name: "serves a view with other origins than it lists",
    finds: "view-policy-same",
    tap: contents(view, (part) => ({ ...part, _meta: { ui: { csp: { connectDomains: ["https://evil.example"] } } } }))
  },
  {
    name: "names two views for one tool",
    finds: "view-keys-same",
    tap: tools((tool) =>
      tool.name === "dice" ? { ...tool, _meta: { ...tool._meta, "ui/resourceUri": "ui://other" } } : tool
    )
  },
  { name: "shows a tool to nobody", finds: "tool-visibility-known", tap: ui("dice", { visibility: ["models"] }) },
  { name: "shows the model a tool for views", finds: "app-tool-hidden", tap: ui("dice", { visibility: ["app"] }) }
]

export const extensionMutants: ReadonlyArray<Mutant> = [...skills, ...views].map((mutant) => ({
  ...mutant,
  revision: "2026-07-28" as const
}))
