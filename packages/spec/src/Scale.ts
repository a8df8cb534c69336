/**
 * How large the tests are: `MCP_TEST_SCALE=nightly` has the large counts, any other run the usual ones.
 */

/** Whether this is the nightly run. */
export const isNightly = process.env["MCP_TEST_SCALE"] === "nightly"

/** A count of a test: `usual` in every run, `nightly` in the nightly run. The reporter lists each call at the end of a run. */
export const scaled = (usual: number, nightly: number): number => (isNightly ? nightly : usual)
