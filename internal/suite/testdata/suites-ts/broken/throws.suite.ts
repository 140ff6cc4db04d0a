import "./throws-helper";

export default [];
