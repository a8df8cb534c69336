/** Small faults of this package, each with the test that detects it: `npm run requirements -- --prove`. */
import type { Fault } from "@effect-mcp/spec/Fault"

const server = "packages/skills/test/server/Skills.test.ts"
const store = "packages/skills/test/host/SkillStore.test.ts"
const tampering = "packages/skills/test/host/tampering.test.ts"
const disk = "packages/skills/test/host/SkillFiles.test.ts"
const catalog = "packages/skills/src/server/SkillCatalog.ts"
const layer = "packages/skills/src/server/CatalogLayer.ts"
const built = "packages/skills/src/server/ServedSkill.ts"
const folder = "packages/skills/src/server/SkillFolder.ts"
const rules = "packages/skills/src/model/checkSkill.ts"
const host = "packages/skills/src/host/ServerSkills.ts"
const listing = "packages/skills/src/host/listing.ts"
const verify = "packages/skills/src/host/verify.ts"
const files = "packages/skills/src/host/SkillFiles.ts"
const extension = "packages/skills/src/model/SkillsExtension.ts"

const faultsOfServers: ReadonlyArray<Fault> = [
  {
    name: "Clients have to declare the extension",
    file: extension,
    from: 'undeclared: "served"',
    to: 'undeclared: "refused"',
    test: server,
    ids: ["skills.capability.methods"]
  },
  {
    name: "Directories cannot be read although the server says so",
    file: catalog,
    from: "if (!isBelow(uri, file.uri)) continue",
    to: "if (!isBelow(file.uri, uri)) continue",
    test: server,
    ids: ["skills.capability.directory"]
  },
  {
    name: "Files of skills are no resources",
    file: layer,
    from: "Layer.mergeAll(Layer.succeed(SkillCatalog, service), methods(catalog), files(catalog, changes))",
    to: "Layer.mergeAll(Layer.succeed(SkillCatalog, service), methods(catalog))",
    test: server,
    ids: ["skills.capability.resources", "skills.files.readable"]
  },
  {
    name: "A folder with another spelling of SKILL.md is a skill",
    file: folder,
    from: "file.endsWith(`/${manifestName}`)",
    to: "file.toLowerCase().endsWith(`/${manifestName.toLowerCase()}`)",
    test: server,
    ids: ["skills.entry.skill-md"]
  },
  {
    name: "A skill is served without a description",
    file: built,
    from: 'if (typeof name !== "string" || typeof description !== "string") {',
    to: 'if (typeof name !== "string") {',
    test: server,
    ids: ["skills.entry.frontmatter-fields"]
  },
  {
    name: "A skill has another name than its folder",
    file: rules,
    from: '} else if (frontmatter["name"] !== name) {',
    to: '} else if (frontmatter["name"] === "") {',
    test: server,
    ids: ["skills.entry.name"]
  },
  {
    name: "A name has capital letters",
    file: rules,
    from: "const namePattern = /^[a-z0-9]+(?:-[a-z0-9]+)*$/",
    to: "const namePattern = /^[a-zA-Z0-9-]+$/",
    test: server,
    ids: ["skills.entry.naming"]
  },
  {
    name: "The files of a nested skill belong to it alone",
    file: folder,
    from: "files.filter((file) => Names.isWithin(folder, file)),",
    to: "files.filter((file) => Names.isWithin(folder, file) && !file.includes(`/parts/`)),",
    test: server,
    ids: ["skills.nested.listed"]
  },
  {
    name: "An entry has only the fields that every skill has",
    file: built,
    from: "frontmatter: { ...frontmatter, name, description },",
    to: "frontmatter: { name, description },",
    test: server,
    ids: ["skills.entry.frontmatter"]
  },
  {
    name: "The manifest lacks files in folders",
    file: built,
    from: "const resources = served.map(",
    to: 'const resources = served.filter(({ uri }) => !uri.includes("/references/")).map(',
    test: server,
    ids: ["skills.entry.complete"]
  },
  {
    name: "A file is outside its skill",
    file: rules,
    from: "if (path === undefined) {\n    problems.push",
    to: "if (path === null) {\n    problems.push",
    test: server,
    ids: ["skills.entry.within"]
  },
  {
    name: "A byte order mark is lost",
    file: built,
    from: 'new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })',
    to: 'new TextDecoder("utf-8", { fatal: true })',
    test: server,
    ids: ["skills.entry.digest"]
  },
  {
    name: "The size of a file is the length of its text",
    file: built,
    from: "size: bytes.length,",
    to: "size: new TextDecoder().decode(bytes).length,",
    test: server,
    ids: ["skills.entry.size"]
  },
  {
    name: "A page repeats the last item of the page before",
    file: layer,
    from: "items.filter((item) => uriOf(item) > cursor)",
    to: "items.filter((item) => uriOf(item) >= cursor)",
    test: server,
    ids: ["skills.list.pages"]
  },
  {
    name: "Results have no caching hints",
    file: layer,
    from: 'revision.era === "stateless" ? { ...result, ...hintOf(options) } : result',
    to: "revision.era === undefined ? { ...result, ...hintOf(options) } : result",
    test: server,
    ids: ["skills.list.cache", "skills.get.cache"]
  },
  {
    name: "A single skill is found by the start of its URI",
    file: layer,
    from: "({ served }) => served.skill.uri === uri)",
    to: "({ served }) => served.skill.uri.startsWith(uri))",
    test: server,
    ids: ["skills.get.entry", "skills.get.unknown"]
  },
  {
    name: "Every URI below the scheme is a file of a skill",
    file: layer,
    from: "uri === undefined || catalog.file(caller, uri) !== undefined",
    to: "uri === undefined || catalog.file(caller, uri) === undefined",
    test: server,
    ids: ["skills.files.unknown"]
  },
  {
    name: "A folder is listed like a file",
    file: catalog,
    from: "mimeType: directoryType }",
    to: 'mimeType: "text/plain" }',
    test: server,
    ids: ["skills.directory.children"]
  },
  {
    name: "The scheme alone is a directory",
    file: catalog,
    from: "if (!/^skill:\\/\\/[^/]/.test(uri)) return undefined",
    to: "",
    test: server,
    ids: ["skills.directory.invalid"]
  },
  {
    name: "A hidden skill is listed",
    file: catalog,
    from: 'visible === undefined || checkedBoolean("Skills.visible", visible(caller, skill))',
    to: 'visible === undefined || checkedBoolean("Skills.visible", visible(caller, skill)) || true',
    test: server
  },
  {
    name: "A link in a skill is left out silently",
    file: folder,
    from: 'problems.push({ place: names.join("/"), rule: "file", message })',
    to: 'if (names.length === 0) problems.push({ place: "", rule: "file", message })',
    test: server
  },
  {
    name: "A folder that became invalid is served in part",
    file: "packages/skills/src/server/Skills.ts",
    from: "if (problems.length > 0) return yield* new InvalidSkills({ problems })",
    to: "if (problems.length > 9) return yield* new InvalidSkills({ problems })",
    test: server
  }
]

const faultsOfHosts: ReadonlyArray<Fault> = [
  {
    name: "A readable resource is loaded as a skill",
    file: host,
    from: "const skill = this.known.get(uri) ?? (yield* this.get(uri))",
    to: 'const skill: Skill = this.known.get(uri) ?? { uri, frontmatter: { name: "refunds", description: "" }, resources: [] }',
    test: store,
    ids: ["skills.host.scheme", "skills.host.by-uri"]
  },
  {
    name: "Approving a skill approves those nested in it",
    file: host,
    from: "if (isApproved) return",
    to: "if (isApproved || (yield* this.enclosing(uri)) !== undefined) return",
    test: store,
    ids: ["skills.host.nested"]
  },
  {
    name: "Skills are kept by their URI alone",
    file: files,
    from: "const known = servers.get(server) ?? { skills: new Map(), files: new Map() }",
    to: "const known = [...servers.values()][0] ?? { skills: new Map(), files: new Map() }",
    test: store,
    ids: ["skills.host.identity"]
  },
  {
    name: "Two labels share a folder on a file system without case",
    file: files,
    from: "/[a-z0-9_-]/.test(character)",
    to: "/[a-zA-Z0-9_-]/.test(character)",
    test: disk,
    ids: ["skills.host.identity"]
  },
  {
    name: "Two skills with the same name have the same label",
    file: listing,
    from: "`${server}/${isUnique ? name : path}`",
    to: "`${server}/${isUnique ? name : name}`",
    test: store,
    ids: ["skills.host.names"]
  },
  {
    name: "An entry may leave out SKILL.md",
    file: rules,
    from: "if (!files.some((file) => file.uri === uri)) {",
    to: "if (files.length === 0) {",
    test: tampering,
    ids: ["skills.host.invalid-entry"]
  },
  {
    name: "Two files may differ in case only",
    file: "packages/skills/src/model/SkillUri.ts",
    from: 'path.normalize("NFC").toLowerCase().normalize("NFC")',
    to: 'path.normalize("NFC")',
    test: tampering
  },
  {
    name: "A path may have encoded separators",
    file: "packages/skills/src/model/SkillUri.ts",
    from: "names.every((name): name is string => name !== undefined && Names.isName(name))",
    to: "names.every((name): name is string => name !== undefined)",
    test: tampering
  },
  {
    name: "A host accepts no skill with 512 files",
    file: rules,
    from: "if (files.length > maxFiles) {",
    to: "if (files.length >= maxFiles) {",
    test: store,
    ids: ["skills.host.limits"]
  },
  {
    name: "A file with another digest is used",
    file: verify,
    from: "found === digest\n",
    to: "found !== digest || found === digest\n",
    test: tampering,
    ids: ["skills.host.verify"]
  },
  {
    name: "A file with another size is hashed",
    file: verify,
    from: "if (bytes.length !== size) {",
    to: "if (bytes.length > 1e9 + size) {",
    test: tampering,
    ids: ["skills.host.size"]
  },
  {
    name: "A loaded skill follows the server",
    file: host,
    from: "return Effect.map(this.verified(skill, file), (bytes) => ({",
    to: "return Effect.map(this.fetch<Uint8Array>(file.uri, Effect.succeed), (bytes) => ({",
    test: store,
    ids: ["skills.host.held"]
  },
  {
    name: "A file that is not in the manifest is requested",
    file: host,
    from: "if (path !== undefined && skill.resources === dynamic) return readGenerated(path)",
    to: "if (file === undefined || path === undefined) return readGenerated(path ?? reference)",
    test: tampering,
    ids: ["skills.host.unlisted", "skills.host.origin"]
  },
  {
    name: "Frontmatter may differ from its entry",
    file: verify,
    from: "return fields.length === 0\n",
    to: "return fields.length < 99\n",
    test: tampering,
    ids: ["skills.host.frontmatter"]
  },
  {
    name: "All files are fetched with SKILL.md",
    file: host,
    from: "const { bytes } = yield* read(manifestName)",
    to: "yield* Effect.forEach([...files.keys()], read)\n      const { bytes } = yield* read(manifestName)",
    test: store,
    ids: ["skills.host.lazy"]
  },
  {
    name: "The prompt does not name its server",
    file: "packages/skills/src/host/LoadedSkill.ts",
    from: "name=${name} server=${JSON.stringify(server)}",
    to: "name=${name}",
    test: store,
    ids: ["skills.host.tagged"]
  },
  {
    name: "An approval holds for every version",
    file: verify,
    from: "files.map(({ digest, uri }) => [uri, digest])",
    to: "files.map(({ uri }) => [uri, uri])",
    test: store,
    ids: ["skills.host.bound"]
  },
  {
    name: "An approval holds for another frontmatter",
    file: verify,
    from: "Frontmatter.canonical([frontmatter, listed])",
    to: "Frontmatter.canonical([Object.keys(frontmatter).length > 99, listed])",
    test: store,
    ids: ["skills.host.bound"]
  },
  {
    name: "Generated files need consent once",
    file: host,
    from: "const approved = resources === dynamic ? undefined : yield* Verify.approvalDigest(frontmatter, resources)",
    to: "const approved = yield* Verify.approvalDigest(frontmatter, resources === dynamic ? [] : resources)",
    test: store,
    ids: ["skills.host.dynamic"]
  },
  {
    name: "A stored file is used without verification",
    file: host,
    from: "yield* Effect.option(Verify.checkFile(file, kept))",
    to: "yield* Effect.option(Effect.succeed(kept))",
    test: disk,
    ids: ["skills.host.cache"]
  },
  {
    name: "Other users can read the stored files",
    file: files,
    from: "mode: 0o600",
    to: "mode: 0o644",
    test: disk
  },
  {
    name: "An alias in frontmatter is expanded",
    file: "packages/skills/src/model/Frontmatter.ts",
    from: 'if (seen.has(value)) return "it contains a YAML alias, which parsers expand differently"',
    to: "",
    test: server
  },
  {
    name: "Any answer approves a skill",
    file: host,
    from: "Effect.map((answer: unknown) => answer === true),",
    to: "Effect.map((answer: unknown) => Boolean(answer)),",
    test: store
  }
]

export const faults: ReadonlyArray<Fault> = [...faultsOfServers, ...faultsOfHosts]
