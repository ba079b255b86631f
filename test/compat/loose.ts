/** A value of a published package. The packages are not dependencies of the repository, so their types are not known here. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Loose = any;
