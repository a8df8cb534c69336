/** Checks the manifest of a published package. */
import { existsSync, readFileSync } from "node:fs"
import * as path from "node:path"
import type { Manifest, Target } from "./Workspace.ts"

const strings = (target: Target): ReadonlyArray<string> => {
  if (typeof target === "string") return [target]
  return target === null ? [] : Object.values(target).flatMap(strings)
}

/** Returns the problems of a published package. Each names the value it has and the value that was expected. */
export const problems = (directory: string, manifest: Manifest, workspace: Manifest): ReadonlyArray<string> => {
  const { bugs, dependencies = {}, engines, exports = {}, homepage, keywords = [], peerDependencies = {} } = manifest
  const folder = `packages/${path.basename(directory)}`
  const document = (name: string): string => {
    const file = path.join(directory, name)
    return existsSync(file) ? readFileSync(file, "utf8") : ""
  }
  const rules: ReadonlyArray<readonly [ok: boolean, problem: string]> = [
    [Boolean(manifest.description), "it has no description"],
    [manifest.license === "MIT", `license is ${manifest.license}, not MIT`],
    [manifest.type === "module", `type is ${manifest.type}, not module`],
    [keywords.includes("mcp") && keywords.length >= 3, "keywords are fewer than three, or lack mcp"],
    [engines?.["node"] !== undefined, "engines does not say which Node it needs"],
    [manifest.sideEffects !== undefined, "sideEffects is not said: bundlers would keep every module"],
    [manifest.repository?.url === workspace.repository?.url, "repository.url differs from that of the workspace"],
    [manifest.repository?.directory === folder, `repository.directory is not ${folder}`],
    [homepage !== undefined && bugs !== undefined, "homepage or bugs is missing"],
    [document("README.md") !== "", "there is no README.md"],
    [document("AGENTS.md") !== "", "there is no AGENTS.md"],
    [document("LICENSE") !== "", "there is no LICENSE"],
    [document("CHANGELOG.md").includes(`## ${manifest.version}\n`), `CHANGELOG.md has no entry ## ${manifest.version}`],
    [manifest.scripts === undefined || Object.keys(manifest.scripts).length === 0, "it ships scripts"]
  ]
  const sources = Object.entries(exports)
    .filter(([, target]) => strings(target).some((file) => /(?<!\.d)\.[cm]?ts$/.test(file)))
    .map(([name]) => `exports "${name}" is TypeScript`)
  const versions = Object.entries({ ...dependencies, ...peerDependencies })
    .filter(([, version]) => /^(?:workspace|catalog|link|file):/.test(version))
    .map(([name, version]) => `${name} is ${version}, which no registry knows`)
  return [...rules.flatMap(([ok, problem]) => (ok ? [] : [problem])), ...sources, ...versions]
}
