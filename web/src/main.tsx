import { render } from "preact";
import { connect } from "./api/feed";
import { App } from "./app";
import { showTips } from "./ui/tips";

render(<App />, document.getElementById("app")!);
connect();
showTips();
