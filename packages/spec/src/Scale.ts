/**
 * The scale of the tests. `MCP_TEST_SCALE=nightly` selects the large counts.
 */

/** True in the nightly run. */
export const isNightly = process.env["MCP_TEST_SCALE"] === "nightly"

/** Returns a test's count: `nightly` in the nightly run, otherwise `usual`. The reporter lists each call at the end of a run. */
export const scaled = (usual: number, nightly: number): number => (isNightly ? nightly : usual)
