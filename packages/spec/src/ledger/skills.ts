/** Requirements of the extension `io.modelcontextprotocol/skills` (2026-07-28 on). */
import { at, client, host, only, requirements, server } from "../Requirement.ts"

const revisions = only("2026-07-28")
const page = "extensions/skills"
const elsewhere = { note: "A host decides this: the store gives it the means, and runs and grants nothing itself" }

export const skills = requirements(
  at(`${page}#capability-negotiation`, revisions, {
    "skills.capability.methods": server.must(
      "A server that declares the extension answers `skills/list` and `skills/get`."
    ),
    "skills.capability.directory": server.must(
      "A server that declares `directoryRead` answers `resources/directory/read`."
    ),
    "skills.capability.resources": server.must("A server that declares the extension also declares `resources`."),
    "skills.host.directory": client.mustNot(
      "A client never calls `resources/directory/read` of a server that did not declare `directoryRead`.",
      { note: "The store lists the files of a skill by its manifest, and calls no such method" }
    )
  }),
  at(`${page}#skill-format`, revisions, {
    "skills.entry.skill-md": server.must("Every skill has a `SKILL.md` at its root."),
    "skills.entry.frontmatter-fields": server.must(
      "A `SKILL.md` begins with YAML frontmatter that has a name and a description."
    )
  }),
  at(`${page}#resource-mapping`, revisions, {
    "skills.uri.scheme": server.should("The URI of a skill has the scheme `skill`."),
    "skills.entry.name": server.must("The last segment of a skill's path is its name."),
    "skills.entry.naming": server.must("The name of a skill follows the naming rules of Agent Skills."),
    "skills.host.scheme": client.mustNot("A resource does not become a skill because of its scheme.")
  }),
  at(`${page}#resource-metadata`, revisions, {
    "skills.files.type": server.should("The media type of a `SKILL.md` is `text/markdown`."),
    "skills.files.described": server.should(
      "The resource of a `SKILL.md` has the name and the description of its skill."
    )
  }),
  at(`${page}#nested-skills`, revisions, {
    "skills.nested.listed": server.must("The files of a nested skill are also files of the skill around it."),
    "skills.host.nested": client.must("A nested skill needs a separate approval before it is loaded."),
    "skills.host.nested-frontmatter": host.mustNot(
      "The frontmatter of a nested `SKILL.md` that was read as a file has no effect.",
      elsewhere
    )
  }),
  at(`${page}#skill-uris`, revisions, {
    "skills.host.identity": client.must(
      "Approvals, entries and files are stored by server and URI, never by URI alone."
    )
  }),
  at(`${page}#frontmatter`, revisions, {
    "skills.entry.frontmatter": server.must("An entry has the frontmatter of its `SKILL.md`, with every field.")
  }),
  at(`${page}#names`, revisions, {
    "skills.host.names": client.must("Skills of a listing with the same name stay apart and are all listed."),
    "skills.host.shadowing": host.mustNot("A skill of a server never replaces a skill of another origin.", elsewhere)
  }),
  at(`${page}#resources`, revisions, {
    "skills.entry.complete": server.must("The manifest lists every file once, including `SKILL.md`."),
    "skills.entry.within": server.must("Each file of the manifest is in the skill's directory."),
    "skills.entry.digest": server.must("The digest of a file is the SHA-256 of its bytes in lowercase hexadecimal."),
    "skills.entry.size": server.must("The size of a file is its number of bytes."),
    "skills.host.invalid-entry": client.mustNot("A skill with an invalid entry is never loaded.")
  }),
  at(`${page}#limits`, revisions, {
    "skills.limits.server": server.shouldNot("No skill has more than 512 files or 16 MiB."),
    "skills.host.limits": client.must("A host loads skills up to 512 files and 16 MiB.")
  }),
  at(`${page}#listing-skills`, revisions, {
    "skills.list.pages": server.must("A cursor leads to the next page, and no entry is split."),
    "skills.list.cache": server.must("The result of `skills/list` has `ttlMs` and `cacheScope`."),
    "skills.host.by-uri": client.must("A skill can be loaded by its URI, whether or not it is listed.")
  }),
  at(`${page}#getting-a-skill`, revisions, {
    "skills.get.entry": server.must("The result of `skills/get` is the entry that a listing has."),
    "skills.get.unknown": server.must("`skills/get` of a URI that is not a skill gets error -32602."),
    "skills.get.cache": server.must("The result of `skills/get` has `ttlMs` and `cacheScope`.")
  }),
  at(`${page}#reading-skill-content`, revisions, {
    "skills.files.readable": server.must("Every file of a skill can be read as a resource."),
    "skills.files.unknown": server.must("Reading a file that no skill has gets error -32602."),
    "skills.host.other-routes": host.mustNot("Reading a `SKILL.md` as a resource does not load the skill.", elsewhere)
  }),
  at(`${page}#integrity-and-verification`, revisions, {
    "skills.host.verify": client.must("A file is used only if its digest matches the manifest."),
    "skills.host.size": client.must("A file is used only if its size matches the manifest."),
    "skills.host.held": client.must("A loaded skill keeps the entry that it was loaded with."),
    "skills.host.unlisted": client.must("A loaded skill reads only files of its manifest."),
    "skills.host.frontmatter": client.must("A skill is loaded only if its frontmatter matches its entry."),
    "skills.host.lazy": client.mustNot("No file is fetched before it is needed.")
  }),
  at(`${page}#reading-directories`, revisions, {
    "skills.directory.children": server.must("The result has every direct child, and folders are `inode/directory`."),
    "skills.directory.invalid": server.must("Reading a URI that is not a directory gets error -32602.")
  }),
  at(`${page}#security-considerations`, revisions, {
    "skills.host.tagged": client.must("The text of a skill names its server when it enters the model's context."),
    "skills.host.origin": client.must("A skill reads from its own server only."),
    "skills.host.bound": client.must("An approval holds for one manifest, and a changed skill asks again."),
    "skills.host.dynamic": client.mustNot("A stored approval never covers a skill whose files are generated."),
    "skills.host.cache": client.must("A stored file is verified whenever it is read."),
    "skills.host.execution": host.mustNot("A skill runs no code without approval of that skill.", elsewhere),
    "skills.host.grants": host.mustNot(
      "No field of a skill's frontmatter widens the permissions of a model.",
      elsewhere
    )
  })
)
