import "./table.js";
import "run";
