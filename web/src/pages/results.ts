// The pages that show results, which are read as one script: they share so much that three weigh more.
export { ComparePage } from "./compare";
export { RunPage } from "./run";
export { TrendsPage } from "./trends";
