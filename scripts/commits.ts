/**
 * Checks commit messages: an imperative subject of at most 72 characters, a blank line, and a body that says why.
 *
 * With the path of a message, as git's `commit-msg` hook calls it, checks that message. Without one it checks the commits since the last
 * tag, or since the branch left its upstream.
 */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { resolve } from "node:path"

const root = resolve(import.meta.dirname, "..")

const longest = 72
/** Verbs in the third person or the past, which subjects often start with by mistake. */
const notImperative = /^(?:add|chang|fix|mend|mov|remov|renam|rewrit|updat|us|mak|made)(?:s|es|ed|ing)\b/i
/** Subjects that git writes. */
const generated = /^(?:Merge|Revert|fixup!|squash!|amend!) /

/** The problems of one message, one sentence each. */
export const problems = (message: string): ReadonlyArray<string> => {
  const [subject = "", blank, ...body] = message
    .replace(/^# -+ >8 -+[\s\S]*/mu, "")
    .split("\n")
    .filter((line) => !line.startsWith("#"))
  if (generated.test(subject)) return []
  return [
    ...(subject.length > longest ? [`The subject has ${subject.length} characters; ${longest} is the most.`] : []),
    ...(/^[A-Z`"]/.test(subject) ? [] : ["The subject does not start with a capital letter."]),
    ...(subject.endsWith(".") ? ["The subject ends with a full stop."] : []),
    ...(notImperative.test(subject) ? ["The subject is not in the imperative: write Fix, not Fixed or Fixes."] : []),
    ...(blank?.trim() === "" && body.some((line) => line.trim() !== "")
      ? []
      : ["There is no body: leave a blank line after the subject, then say why."])
  ]
}

const git = (...args: ReadonlyArray<string>): string | undefined => {
  const { status, stdout } = spawnSync("git", args, { cwd: root, encoding: "utf8" })
  return status === 0 ? stdout.trim() : undefined
}

/** Where the unchecked commits begin, or `undefined` in a repository without tags and upstream. */
const base = (): string | undefined =>
  git("describe", "--tags", "--abbrev=0") ?? git("merge-base", "HEAD", "@{upstream}")

const sinceBase = (): ReadonlyArray<string> => {
  const from = base()
  if (from === undefined) {
    console.log("commits: no tag and no upstream branch to compare with")
    return []
  }
  return (git("log", "--no-merges", "--format=%B%x00", `${from}..HEAD`) ?? "")
    .split("\0")
    .map((message) => message.trim())
    .filter((message) => message !== "")
}

if (import.meta.main) {
  const [file] = process.argv.slice(2)
  const messages = file === undefined ? sinceBase() : [readFileSync(file, "utf8")]
  const found = messages.flatMap((message) =>
    problems(message).map((problem) => `${message.split("\n")[0] ?? ""}\n  ${problem}`)
  )
  for (const line of found) console.error(line)
  if (found.length > 0) process.exitCode = 1
}
