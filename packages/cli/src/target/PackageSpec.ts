/** Package specs in the command lines of package runners, such as `npx -y some-server@1.2.3`. */

/** Command lines that are followed by a package spec. */
const runners = /^(?:bunx|npx|pnpx|uvx|bun x|npm (?:exec|x)|pnpm dlx|yarn dlx)$/
/** Options of runners whose value is a package spec. */
const packageOption = /^(?:-p|--package|--from)$/
/** Other options of runners with a separate value. */
const valueOption = /^(?:-c|--call|--python|--registry|--with|-w|--workspace)$/

/** A spec with a version, a range or a tag: `name@1.2.3`, `@scope/name@latest`, `name==1.2`. URLs and aliases contain other characters. */
const versioned = /^((?:@[\w.~-]+\/)?[\w.~-]+)(?:@|==)[\w.+~^*-]+$/

const bare = (spec: string): string => versioned.exec(spec)?.[1] ?? spec

/** Returns a command line without the versions of the packages that its runner starts. Other command lines are unchanged. */
export const withoutVersion = (line: string): string => {
  const [program = "", ...rest] = line.split(" ")
  const name = program.replace(/^.*[\\/]/, "").replace(/\.(?:cmd|exe)$/i, "")
  const words = runners.test(name) ? [] : rest.splice(0, 1)
  if (!runners.test([name, ...words].join(" "))) return line
  const shown = [program, ...words]
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    const [, option, spec] = /^(--(?:package|from)=)(.+)$/.exec(word) ?? []
    if (packageOption.test(word)) shown.push(word, ...rest.splice(0, 1).map(bare))
    else if (valueOption.test(word)) shown.push(word, ...rest.splice(0, 1))
    else if (option !== undefined && spec !== undefined) shown.push(`${option}${bare(spec)}`)
    else if (word.startsWith("-")) shown.push(word)
    // Everything after the package belongs to the server.
    else return [...shown, bare(word), ...rest].join(" ")
  }
  return shown.join(" ")
}
