package submit

// Refuse is refuse.
var Refuse = refuse
