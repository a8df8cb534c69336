// `prepack` of every published package: what lies here is not what is published.
if (process.env.EFFECT_MCP_RELEASE !== "true") {
  console.error(
    `${process.env.npm_package_name}: this folder cannot be packed or published by itself. Its exports are TypeScript sources, and it ` +
      "depends on its neighbours by `workspace:`.\nRun `npm run release -- --dry-run` at the root of the workspace: it builds, packs and " +
      "checks all packages, and says where the tarballs are."
  )
  process.exit(1)
}
